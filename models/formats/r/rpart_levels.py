"""Levels of a factor as R joins them, ``Husband,Wife``: parted by commas, which levels may have themselves."""

from __future__ import annotations

from collections.abc import Collection


def levels_in(text: str, known: Collection[str] | None) -> tuple[str, ...] | None:
    """The levels in a text, None where there are several readings, or none.

    Parameters
    ----------
    text : str
    known : collection of str, optional
        All levels. Where they are not known, commas with blanks beside them are taken for parts of a level.
    """
    pieces = text.split(",")
    if known is None:
        clear = all(piece and piece == piece.strip() for piece in pieces) and len({*pieces}) == len(pieces)
        return tuple(pieces) if clear else None
    longest = max((level.count(",") for level in known), default=0) + 1
    # For each end the readings of what is before, up to two, and where the last level of one begins.
    ways, last = [1] + [0] * len(pieces), [0] * (len(pieces) + 1)
    for end in range(1, len(pieces) + 1):
        for begin in range(max(0, end - longest), end):
            if ways[begin] and ",".join(pieces[begin:end]) in known:
                ways[end] = min(ways[end] + ways[begin], 2)
                last[end] = begin
    if ways[-1] != 1:
        return None
    found, end = [], len(pieces)
    while end:
        found.append(",".join(pieces[last[end] : end]))
        end = last[end]
    return tuple(reversed(found)) if len({*found}) == len(found) else None
