"""The dossier: a review for whoever has to answer for it, in the order in which authorities ask."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maxent.disclosure.ladder import EXACT, REGISTERED, UNNAMED, Figures, Rung, restricted
from maxent.disclosure.limits import IDS, NO_DRAWS, NO_DRAWS_ID, PLAIN, WITH, Limits, Mend
from maxent.models.defenses.method import CERTAIN
from maxent.models.display import counted
from maxent.models.errors import ARGUMENT, invalid, printable
from maxent.models.files.json_files import as_json_text
from maxent.models.files.result_files import REPORT
from maxent.models.formats.release_reader import Converted
from maxent.models.release import Release
from maxent.results.html_report.build import Gatherer, person_of, rendered
from maxent.results.html_report.provenance import provenance
from maxent.results.html_report.summaries import way
from maxent.results.html_report.view import (
    Person,
    Provenance,
    ReleaseView,
    TreeView,
    number,
    people,
    percent,
    shown,
    unproved_of,
    within_words,
)
from maxent.results.solved import by_exposure, likeliest, person_entry

if TYPE_CHECKING:
    from maxent.results.estimate import Estimate

# People who are named, and leaves of each.
WORST, LEAVES = 10, 3
# What the first page has room for: checks, reasons why a verdict cannot be told, and sentences on what was not tested;
# and the characters of its longest sentence.
CHECKS, REASONS, UNTESTED, SENTENCE = 8, 3, 9, 600
FEWER = "coarser or fewer statements, reviewed again"
LARGER = "larger leaves, or leaves without counts, reviewed again"
# What it means that a file tells draws, and what to do.
DRAWS_TOLD = (
    "The file tells from which people each tree was grown, so that classes may be computed. The command maxent "
    "strip takes that out of the file; it can then only be found by trying seeds: the numbers with which random draws "
    "of people begin."
)
# Files that describe no person, by what they were read as.
PUBLISHED = ("model", "release", "statements", "policy")
NO_DRAWS_WORDS = "the file does not tell which people each tree was grown from"
SEED = (
    "Whether the number that the random draws of people begin with, the seed, can be found by trying, which tells who "
    "was drawn for each tree: a small random_state is found at once (docs/seeds.md)"
)
UNCONTROLLED = "no control people were given (--control)"
# Kinds of statements -> what a reader calls them, where that is another word.
KINDS = {"glm": "regression"}
# Words of a note that what is proved holds with a probability, for the first page.
JOINT = "together with a probability"
# Instead of figures where people are left out.
UNCOUNTED = (
    "Figures about these people stand in the whole dossier alone: whoever has the file learns more about the classes "
    "by them."
)
# What no dossier covers, whatever is asked.
NOT_COVERED = (
    "what the people's data say beside the target, and whether publishing is lawful, fair or wanted",
    "knowledge that was not stated: other releases about the same people, and what is known of single ones",
)


class DossierReview(Protocol):
    """What of a review is in a dossier."""

    @property
    def estimate(self) -> Estimate | None: ...
    @property
    def row(self) -> Mapping[str, Any]: ...
    @property
    def release(self) -> Release: ...
    @property
    def converted(self) -> Converted: ...
    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def asked(self) -> Any: ...
    @property
    def register(self) -> Any: ...
    @property
    def unsolved(self) -> str: ...
    @property
    def trouble(self) -> str: ...
    @property
    def knowledge(self) -> Sequence[str] | None: ...
    @property
    def unread_lines(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Texts:
    """What the first page says of itself; empty: nothing."""

    title: str = ""
    author: str = ""
    organisation: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What a dossier gives account of: a review, and the verdict on it.

    ``announced`` is the verdict in words. ``texts``: title and purpose, where none are given. ``record`` makes the
    record; it is None where an input was no file. ``beside`` is a sentence on the other columns, ``mend`` says what
    would pass, ``why`` why nothing that was judged tells, ``policy`` the name of a policy with what it changes.
    """

    review: Any
    announced: str
    status: str
    checks: Sequence[Mapping[str, Any]]
    ladder: Sequence[Rung]
    texts: tuple[str, str] = ("", "")
    record: Callable[..., Mapping[str, Any]] | None = None
    beside: str = ""
    mend: Mend | None = None
    why: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Worst:
    """A person worst off: what is inferred, from which leaves, and what would take that away."""

    person: Person
    leaves: tuple[tuple[str, str], ...]
    remedy: str


@dataclass(frozen=True, slots=True)
class WorstOff:
    """Whoever is worst off for the adversary that decides; ``who`` is empty where that adversary names nobody.

    ``listed`` is whom the list of others is by: that adversary, or the one of the estimate.
    """

    who: tuple[tuple[str, str], ...]
    people: str
    inferred: str
    others: str
    remedy: str
    listed: str


@dataclass(frozen=True, slots=True)
class DossierView:
    """The content of a dossier, ready to be rendered; without ``worst`` nobody is in it."""

    title: str
    texts: Texts
    data: str
    target: str
    about: str
    policy: str
    announced: str
    status: str
    facts: tuple[tuple[str, str], ...]
    checks: tuple[tuple[str, str, str], ...]
    first_checks: tuple[tuple[str, str, str], ...]
    more_checks: str
    within: str
    ladder: tuple[Rung, ...]
    known: str
    worst_off: tuple[WorstOff, ...]
    worst: tuple[Worst, ...]
    listed: str
    control: tuple[str, ...]
    untested: tuple[str, ...]
    more_untested: int
    notes: tuple[str, ...]
    provenance: Provenance
    public: bool


def dossier_of(given: Account, texts: Texts, *, public: bool = False) -> DossierView:
    """The dossier of a review with an estimate, and the verdict on it; ``public``: nobody is named."""
    review: DossierReview = given.review
    given = replace(given, ladder=tuple(_unnumbered(review, given.ladder))) if public else given
    if not review.release.published:  # nobody was drawn for trees
        given = replace(given, checks=[check for check in given.checks if check["key"] != NO_DRAWS])
    status, ladder, limit = given.status, given.ladder, review.limits.max_posterior
    estimate = review.estimate
    assert estimate is not None
    gatherer = Gatherer(WORST)
    gatherer(estimate, review.row)
    [release] = gatherer.releases
    call, asked = review.asked.call, review.asked
    source = provenance([] if isinstance(call, str) else call, asked.options, asked.inputs, gatherer.backends)
    source = replace(source, command=call) if isinstance(call, str) else source
    if public:  # options may name classes and values, and whoever has all but the classes finds these by a checksum
        published = tuple(file for file in source.inputs if file.role in PUBLISHED)
        source = replace(source, command="", options=(), inputs=published)
    target = shown(review.release.target.name)
    order = () if public else by_exposure(estimate)[:WORST].tolist()
    people_worst = tuple(_account_of(review, release, q) for q in order)
    told, notes = _untested(review, ladder, given.beside, public=public), _notes(review, public=public)
    untested = (*_together(ladder, told), *(note for note in notes if JOINT in note))
    first = _first_checks(given.checks)
    within = UNCOUNTED if public else within_words(_counted(review.row, ladder), status, limit, unproved_of(ladder))
    return DossierView(
        title=shown(texts.title) or f"Disclosure review: {target}",
        texts=replace(texts, **{name: shown(getattr(texts, name)) for name in Texts.__slots__}),
        data=_data(review, release),
        target=target,
        about=_about(release, () if estimate.sensitive is None else estimate.sensitive.classes, public=public),
        policy=_sentence(given.policy),
        announced=given.announced,
        status=status,
        facts=tuple(_facts(review, release)),
        checks=tuple(_line(c, public=public) for c in given.checks),
        first_checks=tuple(_line(c, public=public) for c in first),
        more_checks=_others(given.checks, first),
        within=" ".join(filter(None, (within, *_beyond(given, public=public)))),
        ladder=tuple(ladder),
        known=restricted(review.knowledge),
        worst_off=tuple(_worst_off(review, release, ladder)),
        worst=people_worst,
        listed=_listed(people_worst, release, ladder),
        control=tuple(_control(review, public=public)),
        untested=untested,
        more_untested=max(len(untested) - UNTESTED, 0),
        notes=tuple(note for note in notes if JOINT not in note),
        provenance=source,
        public=public,
    )


def _counted(row: Mapping[str, Any], ladder: Sequence[Rung]) -> Mapping[str, Any]:
    """A row in which whoever is proved for an adversary with a limit is certain, too."""
    proved = (rung.figures.certain_proved or 0 for rung in ladder if rung.status != "not_assessed")
    return {**row, "certain": max(row.get("certain") or 0, *proved, 0)}


def _data(review: DossierReview, release: ReleaseView) -> str:
    """``truth.csv, 11 people``: the table that was read."""
    names = [os.path.basename(each.name) for each in review.asked.inputs if each.role == "table"]
    return ", ".join([*names[:1], people(release.individuals)])


def _about(release: ReleaseView, sensitive: Sequence[str], *, public: bool) -> str:
    """``Salary (<=50K, >50K); whoever is looked for is known by Education and Country``; in public without classes."""
    classes = "" if public else f" ({', '.join(map(shown, release.classes))})"
    known = " and ".join(filter(None, (", ".join(release.attributes[:-1]), *release.attributes[-1:])))
    alone = "" if public or not sensitive else f"; limits are about {', '.join(map(shown, sensitive))} alone"
    alone += ", each by itself: that somebody has one of them is not judged" * (bool(alone) and len(sensitive) > 1)
    return f"{shown(release.target)}{classes}; a person is known by {known or 'nothing'}{alone}"


def _unknown(given: Account, *, public: bool) -> Iterator[str]:
    """Why a verdict cannot be told, a sentence for each adversary, then for each check that is about none."""
    for whom, why in _open(given.ladder):
        yield f"It cannot be told for an adversary with {WITH[whom]}: {why}."
    alone = (check for check in given.checks if check["id"] not in (*IDS.values(), NO_DRAWS_ID))
    open_ = [check for check in alone if check["status"] == "cannot_tell" and not check.get("off")]
    for check in open_[:REASONS]:
        said = check.get("title") if public else check.get("said")
        yield f"It cannot be told of {check['id']}: {said}."
    if open_[REASONS:]:
        yield f"Nor of {', '.join(str(check['id']) for check in open_[REASONS:])}."
    if given.why:
        yield f"It cannot be told: {given.why}."


def _unnumbered(review: DossierReview, ladder: Sequence[Rung]) -> Iterator[Rung]:
    """Adversaries without what follows about the people: figures rest on their classes, and reasons repeat them.

    Nor with what models keep, or the true classes refute, whose words may name values.
    """
    kept = [each["what"] for each in review.row.get("unread", ()) if not each["trees"]]
    for rung in ladder:
        why = {"pass": "", "fail": "", "not_assessed": rung.figures.missing or UNNAMED}.get(rung.status, rung.why)
        for what in kept:
            why = why.replace(what, "what the whole dossier names")
        why = re.sub(r"\d[\d.,]*(?<![.,])( %)?", "…", why)
        yield replace(rung, figures=Figures(missing=why if rung.figures.missing else ""), why=why)


def _open(ladder: Sequence[Rung]) -> Iterator[tuple[str, str]]:
    """For whom limits cannot be told, and why."""
    return ((rung.adversary, rung.why) for rung in ladder if rung.status == "cannot_tell" and rung.why)


def _beyond(given: Account, *, public: bool) -> Iterator[str]:
    """Whose knowledge it is that a verdict fails for, and what would pass, or why it cannot be told."""
    if given.status == "cannot_tell":
        yield from _unknown(given, public=public)
    failed = [WITH[rung.adversary] for rung in given.ladder if rung.status == "fail"]
    if given.status == "fail" and failed:
        yield f"It fails for an adversary with {', and for one with '.join(failed)}."
    if any(c["key"] == NO_DRAWS and c["status"] == "fail" and not c.get("off") for c in given.checks):
        yield DRAWS_TOLD
    if given.mend is not None:
        words = given.mend.words
        yield f"What would pass: {words}." if given.mend.price else f"{words[:1].upper()}{words[1:]}."


def _asked(check: Mapping[str, Any]) -> str:
    """What was asked for, in words."""
    key = str(check["key"])
    words = NO_DRAWS_WORDS if key == NO_DRAWS else PLAIN.get(key)
    return str(words or check.get("title") or key.replace("_", " "))


def _line(check: Mapping[str, Any], *, public: bool) -> tuple[str, str, str]:
    """A check as a row: its id, what was asked for, and what was found."""
    return str(check["id"]), _asked(check), _told(check, public=public)


def _first_checks(checks: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The checks of the first page: all if they fit, else those that did not pass.

    Their order: failed, cannot be told, switched off.
    """
    if len(checks) <= CHECKS:
        return checks
    counted_ = [check for check in checks if not check.get("off")]
    off = [check for check in checks if check.get("off") and check["status"] != "pass"]
    judged = [check for status in ("fail", "cannot_tell") for check in counted_ if check["status"] == status]
    return [*judged, *off][:CHECKS]


def _others(checks: Sequence[Mapping[str, Any]], first: Sequence[Mapping[str, Any]]) -> str:
    """``14 passed``: the checks that the first page leaves out."""
    rest = [check for check in checks if not any(check is each for each in first)]
    named = Counter("off" if check.get("off") else str(check["status"]) for check in rest)
    words = {"fail": "failed", "cannot_tell": "cannot be told", "pass": "passed", "off": "switched off"}
    return ", ".join(f"{named[status]} {word}" for status, word in words.items() if named[status])


def _told(check: Mapping[str, Any], *, public: bool) -> str:
    """``5, limit 0: fail``; of draws whether they do not follow, and the words of a check that counts nothing.

    In public without what was found.
    """
    found, status = check.get("found"), str(check["status"]).replace("_", " ")
    if check.get("off"):
        status = "off" if public else f"off: {_sentence(check['off'])}"
    unnumbered = check["limit"] is True or found is None or not isinstance(found, (int, float))
    if check["key"] == NO_DRAWS:
        return status
    nothing = "there is none" if status == "pass" else "not known"
    said = nothing if found is None else f"{found:,.4g}" if isinstance(found, (int, float)) else str(found)
    whom = f", for {check['adversary']}".replace("_", " ") if "adversary" in check else ""
    if unnumbered and check.get("said") and not public:
        return f"{_sentence(check['said'])}{whom}" + f"; {status}" * bool(check.get("off"))
    asked = check["limit"]
    parts = asked if isinstance(asked, Mapping) else {}
    limit = "" if asked is True else f"limit {', '.join(f'{k} = {v}' for k, v in parts.items()) or asked}"
    return f"{', '.join(filter(None, ('' if public else said, limit)))}{whom}: {status}".lstrip(", :")


def _facts(review: DossierReview, release: ReleaseView) -> Iterator[tuple[str, str]]:
    """What is published, and about whom."""
    leaves = sum(tree.n_leaves for tree in review.release.trees)
    stated = [name for name, there in review.converted.states.items() if there]
    trees, kinds = (
        len(review.release.published),
        Counter(one.kind for each in review.release.statements for one in each.statements),
    )
    told = [f"{counted(trees, 'tree')} with {leaves:,} leaves, by {review.converted.tool}"] * bool(trees)
    beside = ", ".join(counted(n, KINDS.get(kind, kind.replace("_", " "))) for kind, n in kinds.items())
    names = f" ({', '.join(shown(os.path.basename(each)) for each in review.files[trees > 0 :])})" * bool(review.files)
    yield "Published", "; beside it ".join([*told, *[beside + names] * bool(kinds)])
    yield "It states", ", ".join(stated) or "nothing but its splits"
    yield "People", f"{release.individuals:,} in the data, {release.quasi_identifiers:,} told apart"
    yield "Sensitive attribute", f"{release.target}, {counted(len(release.classes), 'class', 'classes')}"
    yield "Known of each person", ", ".join(release.attributes)
    private = [shown(attribute.name) for attribute in review.release.private]
    yield "Not known to an adversary", ", ".join(private) or "no other attribute is used"


def _worst_off(review: DossierReview, release: ReleaseView, ladder: Sequence[Rung]) -> Iterator[WorstOff]:
    """Whoever is worst off for the adversary that decides, then for each other one that is judged or has a register.

    An adversary for whom a limit is broken decides; without one, any that is judged, or has the table.
    """
    there = [rung for rung in ladder if not rung.figures.missing]
    own, *_ = (rung for rung in there if rung.adversary in ("table", "rows"))
    failed = [rung for rung in there if rung.status == "fail"]
    drawn = [rung for rung in there if own in failed and "draws" in review.row and rung.adversary == "rows"]
    judged = [rung for rung in there if rung is own or rung.status != "not_assessed"]
    rung = max([*failed, *drawn] or judged, key=_badness)
    listed = f"by an adversary with {WITH[own.adversary]}" + (", whoever is worst off for others" * (rung is not own))
    yield _worst_for(review, release, rung, own, listed)
    for each in there:
        told = each.status != "not_assessed" or each.adversary == REGISTERED
        if told and each.figures.worst not in (None, rung.figures.worst):
            yield _worst_for(review, release, each, own, listed)


def _worst_for(review: DossierReview, release: ReleaseView, rung: Rung, own: Rung, listed: str) -> WorstOff:
    """Whoever is worst off for one adversary; ``own``: that of the estimate."""
    whom, worst, many = f"an adversary with {WITH[rung.adversary]}", rung.figures.worst, rung.figures.others
    if worst is None:
        return WorstOff((), "", f"{whom} names nobody as worst off: {rung.why}", "", "", listed)
    said, inside = f"{shown(release.target)} “{shown(worst.get('class', ''))}”", "member" in worst
    said = f"that this person is in the data with {said}" if inside else said
    if "classes" in worst:
        told = f"is left with {' or '.join(f'“{shown(each)}”' for each in worst['classes'])} as {shown(release.target)}"
    elif worst.get("proved"):
        told = f"knows {said} for certain, by proof"
    else:
        told = f"infers {said} with probability {worst['probability']:.3f}"
    others = "Nobody else is as badly off"
    if many:
        others = f"{counted(many, 'other person is', 'other people are')} equally badly off"
    who = tuple((shown(name), shown(v) if isinstance(v, str) else number(v)) for name, v in worst["qi"].items())
    of = people(worst["people"]) if "people" in worst else ""
    return WorstOff(who, of, f"{whom} {told}", others, _way_out(review, release, rung, own), listed)


def _badness(rung: Rung) -> tuple[bool, float]:
    """How badly off an adversary's worst person is: by proof, else by probability."""
    worst = rung.figures.worst or {}
    return bool(worst.get("proved")), worst.get("probability", 0.0)


def _way_out(review: DossierReview, release: ReleaseView, rung: Rung, own: Rung) -> str:
    """What would take away what an adversary infers of whoever is worst off."""
    estimate = review.estimate
    assert estimate is not None
    assert rung.figures.worst is not None
    if rung.adversary == "all_but_one" and EXACT in rung.figures.note:
        return "labels or rounded counts, reviewed again; while counts are exact, a smaller tree changes nothing"
    if rung.figures.worst == own.figures.worst and rung.adversary != "all_but_one":
        return _account_of(review, release, int(by_exposure(estimate)[0])).remedy
    if rung.adversary == "predictions":
        table, worst = estimate.program.table, str(rung.figures.worst["qi"])  # as text a missing number is itself
        [q] = (q for q in range(len(table)) if str(table.named(q)) == worst)
        return _account_of(review, release, q).remedy
    if rung.adversary == "rows":
        return "the model without who was drawn for each tree (maxent strip), reviewed again"
    return FEWER if review.release.statements else LARGER


def _account_of(review: DossierReview, release: ReleaseView, q: int) -> Worst:
    """What is inferred of a quasi-identifier, from which leaves, and what would take it away."""
    estimate = review.estimate
    assert estimate is not None
    cells, beside = estimate.program.cells, bool(review.release.statements)
    person, (best, surest) = person_of(estimate, q), likeliest(estimate, q)
    proved = (1.0, 1.0) if estimate.proved_codes[q] == best else None
    person = replace(person, label=shown(review.release.target.classes[best]), probability=surest, proved=proved)
    mine = np.flatnonzero(cells.owner == q)
    leaves, remedy = [], FEWER if beside else "nothing that is published is about this person alone"
    for t, tree in enumerate(release.trees):
        for place in np.unique(cells.leaf[mine, t]).tolist()[:LEAVES]:
            node = tree.nodes[place]
            name = f"{tree.name}, {node.name}" if len(release.trees) > 1 else node.name
            leaves.append((f"{name}: {way(tree, place)}", "; ".join(node.stated)))
            if t == 0:
                remedy = _remedy(tree, place, person.probability, beside=beside) or remedy
                if person.certain and not beside and max(node.distribution, default=0.0) < CERTAIN:
                    remedy = "what is proved follows from several nodes: a smaller tree, reviewed again"
    about = (said for said in estimate.program.linear if said.kind == "statements")
    about = (said for said in about if np.isin(mine, estimate.program.regions[said.region]).any())
    leaves = leaves[:LEAVES] + [(shown(said.origin), _sentence(said.says)) for said in islice(about, LEAVES)]
    if len(release.trees) > 1:
        remedy = "fewer trees, larger leaves, or leaves without counts, reviewed again; a change of one tree is not "
        remedy += f"enough, as {len(release.trees):,} trees together tell people apart"
    return Worst(person, tuple(leaves), remedy)


def _listed(worst: Sequence[Worst], release: ReleaseView, ladder: Sequence[Rung]) -> str:
    """How many are listed of those whose class is certain, or of all; empty where these are all."""
    own = (rung.figures for rung in ladder if rung.adversary in ("table", "rows") and not rung.figures.missing)
    certain = next((max(f.certain or 0, f.certain_proved or 0) for f in own if "sensitive" not in f.row), 0)
    here = sum(each.person.count for each in worst if each.person.certain or each.person.probability >= CERTAIN)
    if here < certain:
        return f"{here:,} of {certain:,} people whose class is certain are listed."
    if len(worst) < release.quasi_identifiers:
        return f"{len(worst):,} of {release.quasi_identifiers:,} people or groups that are told apart are listed."
    return ""


def _remedy(tree: TreeView, place: int, surest: float, *, beside: bool = False) -> str:
    """Where to cut a tree back so that somebody of a leaf is less surely guessed; empty where no node does that.

    ``beside``: whether statements beside the tree are published, which may tell as much of somebody after the cut.
    """
    node = tree.nodes[place]
    while place and node.parent >= 0:
        place = node.parent
        node = tree.nodes[place]
        share = max(node.distribution, default=0.0)
        if share < min(surest, CERTAIN):
            cut = f"cut the tree back to node {node.name}"
            if beside:
                return f"{cut}, and review it again: what is published beside the tree may tell as much without it"
            return f"{cut}: the surest guess there is right with {percent(share)}"
    return ""


def _sentence(text: object) -> str:
    """A sentence for display, which may be longer than a name."""
    return shown(text, SENTENCE)


def _together(ladder: Sequence[Rung], sentences: Iterable[str]) -> Iterator[str]:
    """Sentences on what was not tested, those on adversaries without a limit as one."""
    found = [sentence for sentence in sentences if NO_LIMIT not in sentence]
    told = [r for r in ladder if r.status == "not_assessed" and not r.figures.missing]
    names = [f"“{rung.adversary.replace('_', ' ')}”" for rung in told]
    if names:
        yield f"No limit was set for {', '.join(names)}: figures, and no verdict."
    yield from found


def _control(review: DossierReview, *, public: bool) -> Iterator[str]:
    """What was measured against people who were not in the data."""
    found = review.row.get("control")
    if public and (found is not None or review.register is not None):
        yield "Compared, as the whole dossier says."
        return
    if review.register is not None:
        yield f"{review.register.words[:1].upper()}{review.register.words[1:]}."
    elif found is None:
        yield f"Nothing: {UNCONTROLLED}. What is inferred may be true of anybody like these."
    if found is None:
        return
    low, high = (100 * end for end in found["interval"])
    yield (
        f"Right guesses about members {percent(found['members'])}, about control people {percent(found['controls'])}; "
        f"the difference lies between {low:+.1f} and {high:+.1f} points with {percent(found['confidence'])} confidence."
    )


def _untested(
    review: DossierReview, ladder: Sequence[Rung], beside: str = "", *, public: bool = False
) -> Iterator[str]:
    """What was not tested, and why, a sentence each; ``beside``: what is said of other columns.

    ``public``: what is not read is counted, as its words may name classes and values.
    """
    for rung in ladder:
        name = rung.adversary.replace("_", " ")
        if rung.figures.missing:
            yield f"The adversary “{name}”: {rung.figures.missing}."
        elif rung.status == "not_assessed":
            yield f"The adversary “{name}” {NO_LIMIT}"
    for whom, why in _open([rung for rung in ladder if not rung.figures.missing]):
        yield f"Whether limits are kept for “{whom.replace('_', ' ')}”: {why}."
    if review.trouble:
        yield f"The estimate: {review.trouble}."
    if review.release.resampled is not None and "draws" not in review.row:
        yield f"{SEED}."
    unproved: dict[str, list[str]] = {}
    for rung in ladder:
        unproved.setdefault(rung.figures.unproved, []).append(f"“{rung.adversary.replace('_', ' ')}”")
    for why in filter(None, unproved):
        yield f"Whether somebody's class is certain by proof, for {', '.join(unproved[why])}: {why}."
    unread = [f"{line[:1].upper()}{line[1:]}" for line in map(_sentence, review.unread_lines)]
    register = [] if review.register is None else review.register.estimate.unread_lines
    unread += [f"For a register, {_sentence(line)}" for line in register if line not in review.unread_lines]
    unread += [f"Lost in reading the model: {_sentence(line)}" for line in review.converted.lost]
    if public and unread:
        unread = [f"Not read, or lost in reading, as the whole dossier names: {counted(len(unread), 'thing')}"]
    yield from (f"{line}." for line in unread)
    if known := restricted(review.knowledge):
        yield f"{known[:1].upper()}{known[1:]}; whoever reads all of it may infer more."
    if review.row.get("control") is None:
        many: Mapping[str, Any] = {} if review.register is None else review.register.membership.get("control", {})
        of = counted(many.get("n_controls", 0), "other person", "other people")
        told = f"; only P(member) was compared, with {of} of the register" if many else ""
        yield f"Whether guesses about the class are better for these people than for others: {UNCONTROLLED}{told}."
    yield from (f"{line[:1].upper()}{line[1:]}." for line in (*[_sentence(beside)] * bool(beside), *NOT_COVERED))


def _notes(review: DossierReview, *, public: bool = False) -> list[str]:
    """How what is stated was read, sentences, such as the probability with which intervals of counts hold together.

    In public without notes on lines of a table, which are people.
    """
    found = [each for each in (review.estimate, getattr(review.register, "estimate", None)) if each is not None]
    notes = ((each.program.table.source, note) for each in found for note in each.program.notes)
    told = (printable(note) for source, note in notes if not (public and f"({source}, " in note))
    return [f"{note[:1].upper()}{note[1:]}." for note in dict.fromkeys(told)]


def dossier_numbers(review: DossierReview, ladder: Sequence[Rung], mend: Mend | None = None) -> dict[str, Any]:
    """The numbers of a dossier, as a record has them; without an estimate nobody is worst off."""
    release, estimate = review.release, review.estimate
    published = {
        "trees": len(release.trees),
        "leaves": sum(tree.n_leaves for tree in release.trees),
        "states": [name for name, there in review.converted.states.items() if there],
    }
    control = review.row.get("control")
    own: dict[str, Any] = {"published": published, "control": None if control is None else dict(control)}
    own |= {} if review.register is None else {"membership": review.register.membership}
    own |= {} if mend is None else {"would_pass": mend.as_dict()}
    worst: list[dict[str, Any]] = []
    if estimate is not None:
        table = estimate.program.table
        published |= {"people": table.individuals, "told_apart": len(table)}
        order = by_exposure(estimate)[:WORST].tolist()
        worst = [person_entry(estimate, q) for q in order]
        if len(release.trees) == 1:  # of several trees it names no number
            gatherer = Gatherer(WORST)
            gatherer(estimate, review.row)
            remedies = (_account_of(review, gatherer.releases[0], q).remedy for q in order)
            worst = [{**each, "remedy": remedy} for each, remedy in zip(worst, remedies, strict=True)]
    return {**own, "worst": worst, "not_tested": [*_untested(review, ladder), *_notes(review)]}


NO_LIMIT = "has figures and no verdict: no limit names it."
FORMAT, RECORD_FORMAT = "maxent-dossier/1", "maxent-record/1"


def numbers_beside(path: str | PathLike[str], *, public: bool = False) -> str:
    """The file beside a dossier that has its numbers; refused where something else is there.

    Beside a ``public`` one it is named confidential: a record has people in it, and checksums of their tables.
    """
    beside = os.path.splitext(os.fspath(path))[0] + (".confidential" * public) + ".json"
    if os.path.exists(beside):
        try:
            with open(beside, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("format") not in (FORMAT, RECORD_FORMAT):
            expected = f"another name for the dossier, as its numbers go to {beside}"
            raise invalid("options", ARGUMENT, "dossier", expected, "a file there that is no dossier")
    return beside


def save_dossier(
    given: Account, path: str | PathLike[str], texts: Texts, *, public: bool = False, numbers: bool = True
) -> None:
    """Write a dossier, and with ``numbers`` the record beside it, or its numbers alone where something is no file."""
    from maxent.models.files.output import check_outputs, write_text

    check_outputs({"dossier": (os.fspath(path), REPORT)})
    review: DossierReview = given.review
    if review.estimate is None:
        expected = "a review with an estimate: give it more time (time_limit=), or review fewer trees"
        raise invalid("dossier", "review", "estimate", expected, review.unsolved)
    beside = numbers_beside(path, public=public) if numbers else None
    view = dossier_of(given, texts, public=public)
    write_text(path, rendered("dossier.html.j2", view=view, people_words=people))
    if beside is not None and given.record is not None:
        given.record(beside, written={"dossier_public" if public else "dossier": path})
    elif beside is not None:
        document = {
            "format": FORMAT,
            "title": view.title,
            "created": view.provenance.created,
            "verdict": {"status": given.status},
            "checks": [dict(each) for each in given.checks],
            "ladder": [rung.as_dict() for rung in given.ladder],
            "dossier": dossier_numbers(review, given.ladder, given.mend),
            "versions": dict(view.provenance.versions),
        }
        write_text(beside, as_json_text(document) + "\n")
