"""A converted model for people to read: what survived, and what is lost."""

from __future__ import annotations

from maxent.models.formats.conversion import Converted
from maxent.models.text.display import counted
from maxent.text.terminal import print_lines

WORDS = {"counts": "counts", "n": "sizes", "rates": "rates", "labels": "labels", "linear": "scores", "means": "means"}


ROUNDED = "thresholds were rounded for print: some records may go another way than in the model"


def print_conversion(found: Converted, output: str) -> None:
    """Print what a model became."""
    leaves = sum(len(tree.leaves) for tree in found.release.trees)
    stated = [WORDS[name] for name, there in found.states.items() if there]
    print_lines(
        [
            f"{output}: {counted(len(found.release.trees), 'tree')} with {leaves} leaves, written by {found.tool} "
            f"(format {found.format})",
            f"stated: {', '.join(stated) or 'nothing but the splits'}",
            *([] if found.exact else [ROUNDED]),
            *(f"lost: {sentence}" for sentence in found.lost),
        ]
    )
