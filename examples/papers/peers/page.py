"""The tables of this folder's README.md: what was measured and found, and how the page says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from papers.tables import table

Result: TypeAlias = Mapping[str, Any]
Say: TypeAlias = Callable[[Result], str]
"""A tool's measurements -> a cell."""

ANSWERS: Sequence[tuple[str, str, Say]] = (
    ("maxent audit", "leaves; with one record", lambda f: f"{len(f['leaves'])}; {f['unique']}"),
    (
        "maxent audit",
        "homogeneous leaves; records in them",
        lambda f: f"{f['homogeneous_leaves']}; {f['homogeneous']:,}",
    ),
    (
        "maxent audit",
        "leaves that knowing one member settles; records in them",
        lambda f: f"{f['background_leaves']}; {f['background']:,}",
    ),
    (
        "maxent audit",
        "smallest group (k); people of a group of one class",
        lambda f: f"{f['k']}; {f['exposed']:,}",
    ),
    (
        "maxent estimate",
        "certain individuals, of all",
        lambda f: f"{f['certain']:,} of {f['individuals']:,}",
    ),
    (
        "maxent estimate",
        "largest posterior; Bayes vulnerability",
        lambda f: f"{f['max_posterior']:.4f}; {f['bayes_vulnerability']:.4f}",
    ),
    (
        "maxent estimate",
        "overall divergence from the truth, nats; the largest",
        lambda f: f"{f['divergence']:.4f}; {f['divergence_max']:.4f}",
    ),
    (
        "maxent estimate",
        "status; certificate",
        lambda f: f"{f['status']}; {f['certificate']}",
    ),
)
"""What this project finds: the command, the question, the answer."""

SACRO: Sequence[tuple[str, Say]] = (
    ("smallest equivalence class (k)", lambda f: f"{f['k']}"),
    (
        "k-anonymity risk; records in classes below the threshold",
        lambda f: f"{_risk(f, 'k_anonymity')}; {f['below']:,}",
    ),
    ("threshold, records", lambda f: f"{f['threshold']}"),
    (
        "class disclosure risk; records in such classes",
        lambda f: f"{_risk(f, 'class_disclosure')}; {f['class_disclosure']:,}",
    ),
    ("small group risk; records in such classes", lambda f: f"{_risk(f, 'smallgroup')}; {f['small_groups']:,}"),
    ("degrees of freedom risk", lambda f: _risk(f, "dof")),
    ("unnecessary risk (of the parameters of the model)", lambda f: _risk(f, "unnecessary")),
    (
        "generalisation error risk; gap, test less train",
        lambda f: f"{_risk(f, 'gen_error')}; {f['metrics']['generalisation_gap']:.4f}",
    ),
    (
        "accuracy, train; test",
        lambda f: f"{f['metrics']['train_acc']:.4f}; {f['metrics']['test_acc']:.4f}",
    ),
)

ART: Sequence[tuple[str, str]] = (
    ("the most frequent value", "majority"),
    ("a forest that ART trains on other people, without the tree", "baseline"),
    ("white box, AttributeInferenceWhiteBoxDecisionTree", "white_box"),
    ("white box, AttributeInferenceWhiteBoxLifestyleDecisionTree", "lifestyle"),
)


def tables(results: Mapping[str, Result]) -> dict[str, str]:
    """Every table of the page; a tool without results is in them with the reason."""
    return {"cost": _cost(results), "maxent": _maxent(results), "sacroml": _sacroml(results), "art": _art(results)} | {
        "same": _same(results)
    }


def _cost(results: Mapping[str, Result]) -> str:
    """Versions, sizes and seconds, a column per tool."""
    lines: Sequence[tuple[str, Say]] = (
        ("version", lambda r: r["installed"]["version"]),
        ("distributions installed", lambda r: f"{r['installed']['packages']}"),
        ("site-packages, MB", lambda r: f"{r['installed']['bytes'] / 1e6:,.0f}"),
        ("of it, MB", lambda r: ", ".join(f"{n} {b / 1e6:,.0f}" for n, b in r["installed"]["largest"].items())),
        ("import, CPU s (the interpreter alone)", lambda r: f"{r['import']['cpu']:.2f} ({r['bare']['cpu']:.2f})"),
        ("import, wall s", lambda r: f"{r['import']['wall']:.2f}"),
        ("attack, CPU s", _attack_seconds("cpu")),
        ("attack, wall s", _attack_seconds("wall")),
        ("whole process, CPU s", lambda r: f"{r['run']['cpu']:.1f}"),
        ("whole process, wall s", lambda r: f"{r['run']['wall']:.1f}"),
        ("peak memory, MB", lambda r: f"{r['run']['mb']:,.0f}"),
    )
    rows = [[title, *(_cell(say, result) for result in results.values())] for title, say in lines]
    refused = {name: result["refused"] for name, result in results.items() if "refused" in result}
    if refused:
        rows.append(["why not", *(refused.get(name, "") for name in results)])
    return table(["", *results], rows)


def _attack_seconds(kind: str) -> Say:
    """Seconds without starting, importing, and growing the tree again."""

    def say(result: Result) -> str:
        found = result["found"]
        if "audit_cpu" in found:
            return f"audit {found[f'audit_{kind}']:.2f}, estimate {found[f'estimate_{kind}']:.2f}"
        return f"{found[f'attack_{kind}']:.2f}"

    return say


def _cell(say: Say, result: Result) -> str:
    return "-" if "refused" in result else say(result)


def _maxent(results: Mapping[str, Result]) -> str:
    own = results["maxent"]
    rows = [
        [f"`{command}`", question, _cell(lambda r, s=say: s(r["found"]), own)] for command, question, say in ANSWERS
    ]
    return table(["", "question", "answer"], rows)


def _sacroml(results: Mapping[str, Result]) -> str:
    found = results["SACRO-ML"]
    rows = [[question, _cell(lambda r, s=say: s(r["found"]), found)] for question, say in SACRO]
    return table(["question", "answer"], rows)


def _art(results: Mapping[str, Result]) -> str:
    """Shares guessed right, of members and of other people."""

    def share(key: str, group: str) -> Say:
        return lambda r: f"{r['found'][key][group]:.4f}"

    groups = ("members", "others")
    rows = [[title, *(_cell(share(key, group), results["ART"]) for group in groups)] for title, key in ART]
    return table(["guessed right by", "people of the training data", "other people"], rows)


def _same(results: Mapping[str, Result]) -> str:
    """Questions that two tools answer, and whether the answers are the same."""
    questions: Sequence[tuple[str, str, str, str, str]] = (
        ("smallest number of records that a leaf has", "audit, `spans.min_population`", "k", "k-anonymity", "k"),
        ("records in leaves of fewer than ten", "sizes that leaves state", "below", "k-anonymity, by record", "below"),
        (
            "records in leaves that rule out a class (here: of one class)",
            "audit, `homogeneity.individuals`",
            "homogeneous",
            "class disclosure, by record",
            "class_disclosure",
        ),
        (
            "the same, in the eyes of the adversary",
            "estimate, `disclosure.certain`",
            "certain",
            "class disclosure, by record",
            "class_disclosure",
        ),
    )
    own, other = results["maxent"], results["SACRO-ML"]

    def answer(result: Result, key: str) -> str:
        return _cell(lambda r: f"{r['found'][key]:,}", result)

    rows = [
        [question, f"{where}: {answer(own, key)}", f"{there}: {answer(other, its)}"]
        for question, where, key, there, its in questions
    ]
    grown = [
        "the sizes of all leaves",
        *(_cell(lambda r: f"{len(r['found']['leaves'])} leaves", r) for r in (own, other)),
    ]
    return table(["question", "maxent", "SACRO-ML"], [grown, *rows]) + "\n" + _agreement(results)


def _agreement(results: Mapping[str, Result]) -> str:
    """Whether all tools had the same tree before them."""
    there = {name: result["found"]["leaves"] for name, result in results.items() if "refused" not in result}
    same = len({tuple(leaves) for leaves in there.values()}) == 1
    verdict = "the same sizes of leaves" if same else "DIFFERENT sizes of leaves: not the same tree"
    return f"{', '.join(there)}: {verdict}.\n"


def _risk(found: Result, name: str) -> str:
    """A verdict of the structural attack."""
    return "yes" if found["metrics"][f"{name}_risk"] else "no"
