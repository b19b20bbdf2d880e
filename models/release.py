"""The published release: a `Release` holds only what its readers see."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from maxent.models.release_content import FORMAT as FORMAT
from maxent.models.release_content import Attribute as Attribute
from maxent.models.release_content import AttributeType as AttributeType
from maxent.models.release_content import Boosting as Boosting
from maxent.models.release_content import Branch as Branch
from maxent.models.release_content import Candidates as Candidates
from maxent.models.release_content import Content
from maxent.models.release_content import Defense as Defense
from maxent.models.release_content import Encoding as Encoding
from maxent.models.release_content import Impurity as Impurity
from maxent.models.release_content import Induction as Induction
from maxent.models.release_content import Labels as Labels
from maxent.models.release_content import Link as Link
from maxent.models.release_content import Node as Node
from maxent.models.release_content import Predicts as Predicts
from maxent.models.release_content import Role as Role
from maxent.models.release_content import Target as Target
from maxent.models.release_content import Tree as Tree
from maxent.models.rounding.rounded import Rounded as Rounded


@dataclass(frozen=True, slots=True, repr=False)
class Release(Content):
    """One publication: trees over the same attributes and target.

    Records entered each tree's counts with probability ``sampling_rate``, and counts below
    ``suppressed_below`` (records) were published as 0. ``defense`` is what the publisher says was done.
    ``resampled``: each tree counts so many draws of its own from all records, with replacement (a bootstrap).
    ``predicts``, ``boosting``, ``labels`` and ``rounded`` are described at `maxent.models.release_content.Content`.
    """

    def save(self, path: str | PathLike[str]) -> None:
        """Write the release as a ``maxent/1`` JSON document, atomically."""
        from maxent.models.formats.maxent_json.write import save_release

        save_release(self, path)
