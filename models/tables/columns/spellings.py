"""Values of a column that look alike: refused, noted or read as one, as the reader is asked to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxent.models.errors import Problem
from maxent.models.reading import USUAL, Reader
from maxent.models.tables.frame import Frame, listed, shorten
from maxent.models.text.spelling import NUMBER, cleaned, folded, spelled_alike, told_apart

# What is expected of values that differ only in how they are spelled
ONLY_SPELLING = (
    "values that differ by more than blanks or Unicode form (text='strip' reads them as one, text='exact' as different)"
)

_NAMED = 3  # values that one note names


def spelling_problems(frame: Frame, name: str) -> list[Problem]:
    """List the values of a column that differ only by blanks or Unicode form; note what else may surprise.

    That are values that differ only by case, and those that others write for missing ones.

    Where text is ``exact`` there is nothing to say.
    """
    if frame.reader.reading.text == "exact":
        return []
    column, texts = frame.columns[name], frame.columns[name].texts()
    rows = dict(zip(texts, frame.rows_with(name).tolist(), strict=False))
    used = [text for text in texts if rows[text]]
    usual = USUAL.absent
    for text in used:
        if text and (text == "?" or usual(text)):
            found = f"column {shorten(name)}: {shorten(text)} ({frame.in_words(rows[text])}) is read as a value"
            frame.reader.note(frame.source, found, "where it is written for missing ones, name it in na=")

    def shown(group: Sequence[str]) -> str:
        return " and ".join(f"{told_apart(text)} ({frame.in_words(rows[text])})" for text in group[:_NAMED])

    def problem(group: Sequence[str]) -> Problem:
        second = np.array([text == group[1] for text in texts] + [False])
        return Problem(frame.place(int(second[column.codes].argmax())), name, ONLY_SPELLING, shown(group))

    for group in spelled_alike({cleaned(text): text for text in used}.values(), folded)[:_NAMED]:
        frame.reader.note(
            frame.source,
            f"column {shorten(name)}: {shown(group)} differ only by case, and are read as different values",
        )
    groups = spelled_alike(used, cleaned)
    return listed(map(problem, groups), len(groups), "values")


def unknown_spellings(frame: Frame, name: str, domain: Sequence[str]) -> list[Problem]:
    """List the values outside of a domain that are in it but for blanks or Unicode form; note those but for case.

    Where text is ``exact`` there is nothing to say.
    """
    if frame.reader.reading.text == "exact":
        return []
    column, texts = frame.columns[name], frame.columns[name].texts()
    rows, known = frame.rows_with(name).tolist(), set(domain)
    outside = [at for at, text in enumerate(texts) if rows[at] and text not in known]
    same, similar = ({form(value): value for value in domain} for form in (cleaned, folded))
    wrong = [at for at in outside if cleaned(texts[at]) in same]

    def shown(at: int, value: str) -> str:
        return f"{told_apart(texts[at])} ({frame.in_words(rows[at])}) for {told_apart(value)}"

    for at in [at for at in outside if at not in set(wrong) and folded(texts[at]) in similar][:_NAMED]:
        found = shown(at, similar[folded(texts[at])])
        frame.reader.note(frame.source, f"column {shorten(name)}: {found} is an unknown value: they differ by case")
    problems = (
        Problem(
            frame.place(int((column.codes == at).argmax())), name, ONLY_SPELLING, shown(at, same[cleaned(texts[at])])
        )
        for at in wrong
    )
    return listed(problems, len(wrong), "values")


def note_united(frame: Frame, name: str, reader: Reader, stored: Sequence[str], texts: Sequence[str]) -> None:
    """Note the values that are one because of their form, unless they are numbers."""
    spellings: dict[str, dict[str, None]] = {}
    for before, after in zip(stored, texts, strict=True):
        spellings.setdefault(after, {})[before] = None
    united = [list(group) for text, group in spellings.items() if len(group) > 1 and not NUMBER.fullmatch(text)]
    if united:
        for group in united[:_NAMED]:
            found = " and ".join(map(told_apart, group[:_NAMED]))
            reader.note(frame.source, f"column {shorten(name)}: {found} are read as one value")
        if len(united) > _NAMED:
            found = f"{len(united) - _NAMED} more values have several spellings, which are read as one"
            reader.note(frame.source, f"column {shorten(name)}: {found}")
