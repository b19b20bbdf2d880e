"""An audit of generalised records for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def records_lines(found: Mapping[str, Any], target: str) -> Iterator[str]:
    """A summary in plain language: a line per attack, then the groups of rows."""
    title = target.lower() if target.istitle() and len(target) > 1 else target
    alike, more, spans = found["homogeneity"], found["background"]["beyond_homogeneity"], found["spans"]
    covering, assignment, exposed = found["covering"], found["assignment"], found["exposed"]
    people = found["individuals"]
    yield (
        f"{_plural(found['rows'], 'row')} in {_plural(found['leaves'], 'group')} of rows that are alike but for the "
        f"{title}; {_plural(people, 'individual')}; GCP {found['gcp']:.4f}"
    )
    yield (
        f"uniqueness: {_plural(found['uniqueness']['leaves'], 'group')} of a single row; at the least "
        f"{_plural(spans['k_anonymous'], 'row')} alike: it is {spans['k_anonymous']}-anonymous"
    )
    least = f" of at least {alike['min_size']} rows" if alike["min_size"] > 1 else ""
    yield f"homogeneity: {_plural(alike['leaves'], 'group')}{least} of one class only, {_rows(alike, found)}"
    known = "one member" if found["background"]["known"] == 1 else f"{found['background']['known']} members"
    yield (
        f"background knowledge: the {title} of {known} settles that of all others in "
        f"{_plural(more['leaves'], 'more group')}, {_rows(more, found)}"
    )
    yield (
        f"covering: at least {_plural(covering['rows_per_person'], 'row')} for each person, and "
        f"{_plural(covering['people_per_row'], 'person', 'people')} for each row: it is ({covering['kk_anonymous']},"
        f"{covering['kk_anonymous']})-anonymous"
    )
    yield (
        f"linking: {_plural(exposed['unique'], 'individual')} whom a single row covers; the rows that cover them give "
        f"away the {title} of {_plural(spans['exposed'], 'individual')}{_share(spans['exposed'], people)}"
        + (f"; no row covers {spans['unlinked']}" if spans["unlinked"] else "")
    )
    if not assignment["complete"]:
        yield "assignment: the rows cannot be those of these people, one each"
    elif not assignment["ruled_out"]:
        yield "assignment: as every row is one person's, nothing more follows"
    else:
        yield (
            f"assignment: as every row is one person's, {_plural(assignment['narrowed'], 'individual')} can have fewer "
            f"rows than cover them, {assignment['below_k']} fewer than {covering['kk_anonymous']} (the least are "
            f"{assignment['rows_per_person']}); that gives away the {title} of {exposed['assignment']} more"
        )
    if found["worst"]:
        yield "largest groups of one class:"
        yield from (
            f"  {row['leaf']}: {_plural(row['n'], 'row')}, {row['class']}: {row['path']}" for row in found["worst"]
        )
    yield from (f"note: {note}" for note in found["notes"])


def _plural(number: int, noun: str, many: str | None = None) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {many or noun + 's'}"


def _rows(numbers: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    return f"with {_plural(numbers['individuals'], 'row')}{_share(numbers['individuals'], found['rows'])}"


def _share(number: int, whole: int) -> str:
    return f" ({100 * number / whole:.1f} %)" if number else ""
