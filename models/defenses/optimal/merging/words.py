"""What is told of branches that were merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def merged_words(row: Mapping[str, Any], inducer: str) -> Iterator[str]:
    """What was merged, in words."""
    before, now = row["branches_before"], row["branches"]
    of_k = f"of the splits that are kept (k = {row['k']})"
    if before != now:
        yield f"merged along hierarchies: {before} branches {of_k} are {now}"
    else:
        more = (
            "; splits of cart are in two, those of id3 and c45 in one branch for each value"
            if inducer == "cart"
            else ""
        )
        yield f"nothing was merged along hierarchies, {of_k}{more}"
