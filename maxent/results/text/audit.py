"""An audit for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maxent.models.display import Display
from maxent.results.text.terminal import aligned

# Recovered leaves, groups of them, and nodes at risk that are printed; of more, the number.
SHOWN = 10
# The same of groups whose number follows from statements.
HIDDEN = 5


def audit_display(title: str, found: Mapping[str, Any], lines: Sequence[str]) -> Display:
    """An audit in a console and in a notebook: a row per attack."""
    rows = [
        (
            attack,
            *("" if found[attack].get(of) is None else f"{found[attack][of]:,d}" for of in ("leaves", "individuals")),
        )
        for attack in ("uniqueness", "homogeneity", "background")
    ]
    return Display(title, lines, ("attack", "leaves", "individuals"), rows, lines)


def audit_lines(found: Mapping[str, Any], target: str, trees: int, private: bool = False) -> Iterator[str]:
    """A summary in plain language: a line per attack, then the leaves. Statements without ``trees`` have no leaf."""
    title = target.lower() if target.istitle() and len(target) > 1 else target
    if not trees:
        people = found["individuals"]
        yield "statements without a tree" + ("" if people is None else f"; {_people(people)}")
        yield from _stated(found["statements"]) if "statements" in found else ()
        yield from _said(found)
        return
    removed = found["differencing"]["removed"]
    yield (
        _leaves(found["leaves"])
        + (f" in {trees} trees" if trees > 1 else "")
        + (f", {_leaves(removed)} removed" if removed else "")
        + ("" if found["individuals"] is None else f"; {_people(found['individuals'])}")
    )
    yield f"uniqueness: {_hold(found['uniqueness']['leaves'])} a single individual"
    yield _homogeneity(found, title) + (", to those who know who is in them" if private else "")
    yield _background(found, title)
    if "facts" in found:
        facts = found["facts"]
        yield (
            f"facts: without the {_people(facts['known'])} known, {_hold(facts['leaves'], 'more')} one class only: "
            f"the {title} of {_people(facts['individuals'])}"
        )
    if "spans" in found:
        told = " (by what leaves state; inner nodes tell more, see below)" if found["differencing"]["recovered"] else ""
        yield _spans(found["spans"], title) + told
    if found["unknown_size"]["leaves"]:
        size = found["unknown_size"]
        also = f"; {size['homogeneous']} of them have one class only, if any" * bool(size["homogeneous"])
        yield f"size unknown: {_leaves(size['leaves'])} that count nowhere above{also}"
    if "exposed" in found:
        named = [f"{number} {attack}" for attack, number in found["exposed"].items() if number]
        yield "individuals by the first attack they are open to: " + (", ".join(named) or "nobody")
    if "control" in found:
        yield _control(found["control"], title)
    if "sensitive" in found:
        yield from _sensitive(found["sensitive"], title)
    if "statements" in found:
        yield from _stated(found["statements"])
    yield from _differencing(found, trees)
    if "risk" in found:
        yield from _risk(found["risk"], trees)
    if found["worst"]:
        yield "worst leaves:"
        yield from (f"  {_worst(row, trees)}" for row in found["worst"])
    yield from _said(found)


def _said(found: Mapping[str, Any]) -> Iterator[str]:
    """What is not read, and notes."""
    yield from (f"not read: {each['what']}: no limit is known to be kept" for each in found.get("unread", ()))
    yield from (f"note: {note}" for note in found["notes"])


def _stated(found: Mapping[str, Any]) -> Iterator[str]:
    """Numbers of people that statements beside trees give."""
    settled = "" if found["people"] is None else f"; single cells settle the class of {_people(found['people'])}"
    settled += "" if found["complete"] else "; whether whole people settle others was not found out"
    yield (
        f"statements: {found['exact']:,} of {found['cells']:,} numbers of people of a class are known, "
        f"{found['follow']:,} that nothing prints; in {found['zeros']:,} nobody has the class, or all have it{settled}"
    )
    yield from (f"  {text}" for text in found["words"])
    if found["unprinted"]:
        yield "numbers that nothing prints, the smallest first:"
    for row in found["unprinted"][:HIDDEN]:
        yield f"  {row['number']:,} {row['class']} of {_people(row['people'])}: {row['who']} ({row['source']})"
    if (rest := found["follow"] - HIDDEN) > 0:
        yield f"  and {rest:,} more (--json lists {len(found['unprinted']):,})"


def _homogeneity(found: Mapping[str, Any], title: str) -> str:
    numbers = found["homogeneity"]
    least = f" of at least {numbers['min_size']} individuals" if numbers["min_size"] > 1 else ""
    text = f"homogeneity: {_hold(numbers['leaves'], least=least)} one class only"
    if not numbers["leaves"]:
        return text
    return (
        f"{text}: the {title} of {_people(numbers['individuals'])}{_share(numbers['individuals'], found)} is disclosed"
    )


def _background(found: Mapping[str, Any], title: str) -> str:
    numbers = found["background"]
    more = numbers["beyond_homogeneity"]
    members = "one member" if numbers["known"] == 1 else f"{numbers['known']} members"
    who = f"who knows the {title} of {members}"
    if not more["leaves"]:
        return f"background knowledge: {who} learns that of no others"
    return (
        f"background knowledge: {who} learns that of all others in {_leaves(more['leaves'], 'more ')}: "
        f"{_people(more['individuals'])}{_share(more['individuals'], found)}"
    )


def _spans(spans: Mapping[str, Any], title: str) -> str:
    groups = "one group" if spans["count"] == 1 else f"{spans['count']} groups"
    if not spans["count"]:
        return "linking: everybody of the table is in a removed leaf"
    alike = "class" in spans
    least = "how many are in the smallest is not known"
    if spans["k_anonymous"] is not None:
        smallest = f"the smallest of {_people(spans['min_population'])}" + (" of the same class" if alike else "")
        least = f"{smallest}: it is {spans['k_anonymous']}-anonymous"
    return (
        f"linking: the table falls into {groups} of people whom the release cannot tell apart, {least}; "
        + (f"the {title} of {_people(spans['exposed'])}" if spans["exposed"] else f"nobody's {title}")
        + " follows from the group"
        + (f"; {_people(spans['unlinked'])} in removed leaves" if spans["unlinked"] else "")
    )


def _sensitive(alone: Mapping[str, Any], title: str) -> Iterator[str]:
    """What is shown of sensitive classes alone."""
    classes = ", ".join(alone["classes"])
    if "exposed" in alone:
        yield f"{classes} alone: the {title} of {_people(alone['exposed'])} follows from the group"
    if "control" in alone:
        yield f"{classes} alone: {_control(alone['control'], title)}"


def _control(control: Mapping[str, Any], title: str) -> str:
    """What attacks show of the people, and what the same would say of control people."""
    low, high = control["interval"]
    shown, people = control["shown"]["controls"], control["individuals"]["controls"]
    return (
        f"attacks show the {title} of {100 * control['members']:.1f} % of the people in the data; of {people:,} others "
        f"they would name that of {shown:,}, right for {100 * control['controls']:.1f} % of all others: a difference "
        f"of {100 * control['difference']:+.1f} points, {100 * low:+.1f} to {100 * high:+.1f} with "
        f"{100 * control['confidence']:g} % confidence"
    )


def _differencing(found: Mapping[str, Any], trees: int) -> Iterator[str]:
    """The leaves that inner nodes give away."""
    numbers = found["differencing"]
    if not numbers["recovered"] and not found["groups"]:
        if numbers["removed"]:
            yield f"differencing: nothing is recovered of the {_leaves(numbers['removed'])} that were removed"
        return
    alone, alike = numbers["uniqueness"]["leaves"], numbers["homogeneity"]
    yield (
        f"differencing: numbers on inner nodes give away {_leaves(numbers['recovered'])}: {alone} with a single "
        f"individual, {alike['leaves']} of one class only ({_people(alike['individuals'])})"
    )
    for row in found["recovered"][:SHOWN]:
        yield f"  {_place(row, trees)}: {_records(row)}"
    for row in found["groups"][:SHOWN]:
        yield f"  {_leaves(len(row['leaves']))} below {_tree(row, trees)}{row['node']} together: {_records(row)}"
    rest = max(len(found["recovered"]) - SHOWN, 0) + max(len(found["groups"]) - SHOWN, 0)
    if rest:
        yield f"  and {rest} more (--json lists them)"


def _risk(rows: Sequence[Mapping[str, Any]], trees: int) -> Iterator[str]:
    """The nodes that take the least information to re-identify somebody in."""
    measures = ("n", "BIG", "ICR", "R", "R_branch", "omega")
    least = sorted(rows, key=lambda row: float(row["R"]))[:SHOWN]
    cells = [
        [f"{_tree(row, trees)}{row['node']}", str(row["n"]), *(_bits(row[name]) for name in measures[1:])]
        for row in least
    ]
    yield "re-identification risk, bits (the fewer, the easier), and omega, bits per error that pruning makes:"
    yield from (f"  {line}" for line in aligned(["node", *measures], cells, left=1))
    if len(rows) > SHOWN:
        yield f"  and {len(rows) - SHOWN} more (--json lists them)"


def _bits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _records(row: Mapping[str, Any]) -> str:
    """Known records of leaves: ``3 individuals, yes: 2, no: 1``."""
    parts = [] if row["n"] is None else [_people(row["n"])]
    if row["class"] is not None:
        parts.append(f"all {row['class']}")
    elif row["counts"] is not None:
        parts += [f"{name}: {count:,}" for name, count in row["counts"].items() if count]
    return ", ".join(parts)


def _place(row: Mapping[str, Any], trees: int) -> str:
    """The name of a recovered leaf."""
    where = f"below {row['node']}, branch {row['branch']} ({row['test']})"
    if row["leaf"] is None:
        return f"{_tree(row, trees)}the leaf removed {where}"
    return f"{_tree(row, trees)}leaf {row['leaf']}" + (f" {where}" if row["node"] is not None else "")


def _worst(row: Mapping[str, Any], trees: int) -> str:
    shown = "" if row["class"] is None else f", {'all ' if row['n'] > 1 else ''}{row['class']}"
    return f"{_tree(row, trees)}{row['leaf']}: {_people(row['n'])}{shown}: {row['path']}"


def _tree(row: Mapping[str, Any], trees: int) -> str:
    return f"tree {row['tree']}, " if trees > 1 else ""


def _leaves(number: int, more: str = "") -> str:
    return f"{number} {more}leaf" if number == 1 else f"{number:,} {more}leaves"


def _people(number: int) -> str:
    return f"{number} individual" if number == 1 else f"{number:,} individuals"


def _hold(number: int, more: str = "", *, least: str = "") -> str:
    """``2 more leaves hold``, ``no leaf holds``."""
    many = f"{f'{number:,}' if number else 'no'} {more + ' ' if more else ''}{'leaves' if number > 1 else 'leaf'}"
    return f"{many}{least} {'hold' if number > 1 else 'holds'}"


def _share(number: int, found: Mapping[str, Any]) -> str:
    return f" ({100 * number / found['individuals']:.1f} %)" if found["individuals"] else ""
