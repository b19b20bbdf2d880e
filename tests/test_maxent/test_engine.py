"""The Python interface: wrong options are refused like wrong files, and results cannot be changed."""

import inspect
import json
from pathlib import Path

import pandas as pd
import polars
import pytest
from sklearn.tree import DecisionTreeClassifier, export_text
from support.calls import refusal
from support.paths import D1

import maxent


def estimate(**options):
    return maxent.estimate(D1 / "tree.json", D1 / "qi.csv", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impurity": "ginni"}, "impurity: expected one of gini, entropy, gain_ratio, found 'ginni'"),
        ({"knowledge": "labels"}, "knowledge: expected any of label, rate, counts, marginal, internal, found 'labels'"),
        ({"knowledge": 3}, "knowledge: expected a string or strings"),
        ({"rounding": "up"}, "rounding: expected one of auto, digits, exact, found 'up'"),
        ({"confidence": 1.0}, "confidence: expected a probability between 0 and 1, found 1.0"),
        ({"tolerance": "x"}, "tolerance: expected a number between 0 and 1, found 'x'"),
        ({"starts": 0}, "starts: expected a whole number of at least 1, found 0"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, found -1"),
        ({"top": 0}, "top: expected a whole number of at least 1, found 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    assert message in str(refusal(estimate, **options))


def test_views_are_copies():
    result = estimate(knowledge="label,rate")
    table = result.posterior
    table.iloc[0, 3] = 99
    result.summary["disclosure"]["certain"] = -1
    assert (result.posterior.iloc[0, 3], result.summary["disclosure"]["certain"]) == (1, 5)
    with pytest.raises(AttributeError):
        result.backend = "other"


def test_names_are_loaded_when_used():
    assert "estimate" in dir(maxent)
    with pytest.raises(AttributeError, match="no attribute 'estimates'"):
        maxent.estimates  # noqa: B018


QI, TARGET = ["age", "sex"], "ill"
PEOPLE = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "sex": [0, 1] * 10, TARGET: ["no", "no", "yes", "yes", "no"] * 4})
MODEL = DecisionTreeClassifier(max_depth=2, min_samples_leaf=3, random_state=0).fit(PEOPLE[QI], PEOPLE[TARGET])
SEVEN = ("estimate", "bounds", "audit", "check", "review", "advise", "compare")
HOW = {"advise": {"target": TARGET, "qi": QI, "folds": 2, "methods": ["prune-leaf"], "min_k": 2}, "review": {"qi": QI}}


def written(frame):
    frame.to_csv("table.csv", index=False)
    return "table.csv"


TABLES = {"pandas": lambda frame: frame, "polars": polars.from_pandas, "path": written}


PUBLISHED = ("model", "release", "path", "foreign file")


def published(kind):
    if kind == "model":
        return MODEL
    release = maxent.convert(MODEL, target=TARGET)
    if kind == "path":
        release.save("tree.json")
        return "tree.json"
    if kind == "foreign file":
        Path("rules.txt").write_text(export_text(MODEL, feature_names=QI, show_weights=True), encoding="utf-8")
        return "rules.txt"
    return release


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in SEVEN for kind in ((None,) if name == "advise" else PUBLISHED)],
)
@pytest.mark.filterwarnings("ignore")
def test_models_and_tables_of_every_kind(name, kind, table, tmp_path, monkeypatch):
    """What was published as a model or a file of any tool; each kind of table; each result has the four views."""
    monkeypatch.chdir(tmp_path)
    people = TABLES[table](PEOPLE if (name in {"review", "advise"}) else PEOPLE[QI])
    needs = {"model": {"target": TARGET}, "foreign file": {"target": TARGET, "classes": ["no", "yes"]}}.get(kind)
    needs = {} if needs is None else {"reading": needs}
    if name == "advise":
        found = maxent.advise(people, **HOW[name])
    elif name == "compare":
        found = maxent.compare([published(kind)], people, **needs)
    elif name == "check":
        found = maxent.check(published(kind), people, {"limits": {"min_k": 2}}, **needs)
    else:
        found = getattr(maxent, name)(published(kind), people, **HOW.get(name, {}), **needs)
    assert found.verdict().status in {"pass", "fail", "cannot_tell", "not stated"}
    assert isinstance(found.to_dict(), dict)
    assert "<table" in found._repr_html_()
    found.report("report.html")
    assert Path("report.html").read_text().startswith("<!")


def test_the_result_of_audit_is_the_mapping_that_it_was():
    """Beside its views the result has the keys and values of the summary."""
    release = published("release")
    assert maxent.audit(release, PEOPLE[QI]) == maxent.audit_release(release, PEOPLE[QI]).summary


@pytest.mark.parametrize("name", SEVEN)
def test_wrong_calls_are_refused_by_name(name):
    """Nothing, an unknown keyword, too many arguments, one twice, wrong types, swapped: never a bare TypeError."""
    function = getattr(maxent, name)
    first = next(iter(inspect.signature(function).parameters))
    how = HOW.get(name, {})
    for args, options in [
        ((), {}),
        ((MODEL, PEOPLE), {**how, "no_such_option": 1}),
        (tuple(range(9)), how),
        ((MODEL, PEOPLE), {**how, first: MODEL}),
        ((3, 4), how),
        ((PEOPLE, MODEL), {**how, "reading": 3}),
    ]:
        with pytest.raises(maxent.InvalidInput):
            function(*args, **options)


@pytest.mark.parametrize("name", ["estimate", "bounds", "audit", "check", "review"])
@pytest.mark.parametrize("kind", ["model", "release", "path"])
def test_swapped_arguments_are_told(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = "table.csv" if kind == "path" else PEOPLE
    written(PEOPLE)
    with pytest.raises(
        maxent.InvalidInput, match=rf"expected them in this order: {name}\(\w+, \w+\), found .* swapped"
    ):
        getattr(maxent, name)(table, published(kind), **HOW.get(name, {}))


def test_tables_in_their_place_are_not_told_to_be_swapped():
    assert "swapped" not in str(refusal(maxent.estimate, PEOPLE, PEOPLE[QI], count="nothing"))


def test_people_of_a_leaf_are_one_answer_in_memory_and_others_are_counted_each(monkeypatch):
    people = pd.DataFrame([(a, b, c) for a in "vwxyz" for b in "0123456" for c in "01"], columns=["A", "B", "X"])
    people = pd.concat([people, people[(people.A == "x") == (people.X == "0")]])
    release = maxent.id3(people, target="X", qi=["A", "B"], impurity="gini", min_samples_split=40)
    expected = maxent.estimate(release, people[["A", "B"]])
    leaves = len(release.trees[0].leaves)
    assert 1 < leaves < len(expected.program.table)
    monkeypatch.setenv("MAXENT_LARGEST_TABLE", str(2 * leaves))
    found = maxent.estimate(release, people[["A", "B"]])
    assert found.summary["entropy"] == expected.summary["entropy"]
    with pytest.raises(maxent.InvalidInput, match="cells of distinct quasi-identifiers"):
        maxent.bounds(release, people[["A", "B"]])
    monkeypatch.setenv("MAXENT_LARGEST_TABLE", str(2 * leaves - 1))
    with pytest.raises(maxent.InvalidInput, match="cells of distinct quasi-identifiers"):
        maxent.estimate(release, people[["A", "B"]])


def test_contradictions_are_found_among_groups_of_people_who_are_alike(tmp_path):
    """The answer of each person takes far more memory."""
    rows = [(a, f"b{i}") for a in "xy" for i in range(8)]
    branches = [{"in": ["x"], "child": "X"}, {"in": ["y"], "child": "Y"}]
    leaves = [{"id": name, "label": "A", "error_rate": 0.25} for name in "XY"]
    release = {
        "format": "maxent/1",
        "target": {"name": "t", "classes": ["A", "B"]},
        "attributes": [
            {"name": "ab"[j], "type": "categorical", "values": sorted({row[j] for row in rows})} for j in (0, 1)
        ],
        "trees": [
            {
                "induction": {"algorithm": "cart", "impurity": "gini"},
                "nodes": [{"id": "N", "attribute": "a", "branches": branches}, *leaves],
            }
        ],
    }
    (tmp_path / "tree.json").write_text(json.dumps(release))
    marginal = pd.DataFrame({"t": ["A", "B"], "count": [4, 12]})
    qi = pd.DataFrame(rows, columns=["a", "b"])
    with pytest.warns(maxent.UnreliableResult):
        found = maxent.estimate(tmp_path / "tree.json", qi, marginal=marginal)
    assert [str(each) for each in found.contradictions] == [
        "marginal: marginal A: 4, B: 12 (off by 4 individuals)",
        "leaf X: error rate 0.25 of label A (off by 2 individuals)",
        "leaf Y: error rate 0.25 of label A (off by 2 individuals)",
    ]
    assert "masses" not in vars(found.outcome)
