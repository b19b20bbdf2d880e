"""The people whom candidates are made from, read once, and their folds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.disclosure.limits import Limits
from maxent.evidence.sensitive import sensitive_codes
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.method import Wanted
from maxent.models.defenses.optimal.costs import CostFile, read_costs
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.folds import stratified
from maxent.models.tables.frame import Source
from maxent.models.tables.training import Order, Training, read_training


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Records with their classes, and the fold that each is tested in.

    ``trainings`` has the records for each order of domains that methods ask for; ``fold`` is of shape (n,), from 0.
    ``sensitive`` are codes of classes, empty for all. ``digest`` is a hash of the records, whatever file they are from.
    ``start`` is a model to start from, whatever its leaves state, None where trees are grown. ``costs``, shape
    (n_decisions, n_classes), is what a decision costs about somebody of a class; None where accuracy counts.
    """

    trainings: Mapping[Order, Training]
    fold: IntArray
    sensitive: tuple[int, ...]
    digest: str
    start: Release | None = None
    costs: FloatArray | None = None

    @property
    def training(self) -> Training:
        """The records, domains sorted."""
        return self.trainings["sorted"]

    def costs_of(self, training: Training) -> FloatArray | None:
        """The costs with a column for each class in the order of these records, which may be another."""
        named, here = self.training.target.classes, training.target.classes
        return None if self.costs is None else self.costs[:, [named.index(name) for name in here]]

    def wanted(self, limits: Limits) -> Wanted:
        """What grids of methods may know of the limits and the records."""
        training = self.training
        right = [limits.max_right_guesses] if limits.max_right_guesses is not None else []
        if limits.max_lift is not None:
            right.append(limits.max_lift + float(np.bincount(training.y).max()) / len(training))
        names = ",".join(training.target.classes[code] for code in self.sensitive)
        return Wanted(
            records=len(training),
            numeric=any(attribute.values is None for attribute in training.attributes),
            min_k=limits.min_k,
            max_posterior=limits.max_posterior,
            max_certain=limits.max_certain,
            max_right_guesses=min(right, default=None),
            sensitive=names or None,
            private=any(attribute.role == "private" for attribute in training.attributes),
            start=0 if self.start is None else len(self.start.trees),
        )


def read_people(
    source: Source,
    columns: Mapping[str, Any],
    *,
    folds: int,
    seed: int,
    sensitive: str | Iterable[str] | None,
    reader: Reader,
    start: Release | None = None,
    cost: Any = None,
    domains: Mapping[str, Sequence[str]] | None = None,
) -> People:
    """Read records; ``columns`` are arguments of `maxent.defend`, ``domains`` the values that a model knows.

    ``cost`` is a table of costs, or an array, as for the method ``optimal``.

    Raises
    ------
    InvalidInput
        For anything wrong with the records or the costs, and for fewer of them than folds.
    """
    first = read_training(source, **columns, domains=domains or {}, reader=reader)
    appearance = first
    if start is None:
        appearance = read_training(source, **columns, order="appearance", reader=reader)
    trainings: Mapping[Order, Training] = {"sorted": first, "appearance": appearance}
    if len(first) < folds:
        raise invalid("options", ARGUMENT, "folds", f"at most {len(first)}, the number of records", str(folds))
    codes = sensitive_codes(sensitive, first.target)
    costs = None if cost is None else read_costs(CostFile(cost, reader), first.target)
    digest = _digest(first, columns, start, costs)
    return People(trainings, stratified(first.y, folds, seed), codes, digest, start, costs)


def _digest(training: Training, columns: Mapping[str, Any], start: Release | None, costs: FloatArray | None) -> str:
    """A hash of records as they were read, of the model to start from, and of costs."""
    stated = [[each.name, each.role, each.values] for each in training.attributes]
    about = [stated, training.target.name, training.target.classes, sorted(map(str, columns.items()))]
    about += [] if start is None else [json.dumps(release_to_document(start), default=str)]
    about += [] if costs is None else [costs.tolist()]
    found = hashlib.sha256(json.dumps(about).encode())
    for column in (*training.columns, training.y):
        found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()
