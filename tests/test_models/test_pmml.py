"""Models in PMML: predicates, missing values, derived fields, counts and shares, ensembles; and what is none of it."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import convert_model, load_release
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reading, reader_of
from maxent.models.trees.predict import predict, predict_proba

FIELDS = """<DataField name="Pay" optype="categorical" dataType="string"><Value value="low"/><Value value="high"/>
</DataField><DataField name="Age" optype="continuous" dataType="double"/>
<DataField name="Job" optype="categorical" dataType="string"><Value value="clerk"/><Value value="a &quot;b&quot;"/>
<Value value="smith"/></DataField>"""
MINING = """<MiningField name="Pay" usageType="target"/><MiningField name="Age"/><MiningField name="Job"/>"""


def document(model: str, *, fields: str = FIELDS, before: str = "", application: str = "tool") -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">'
        f'<Header><Application name="{application}" version="1"/></Header>'
        f"<DataDictionary>{fields}</DataDictionary>{before}{model}</PMML>"
    )


def tree(nodes: str, *, mining: str = MINING, local: str = "", kind: str = "classification", **how: str) -> str:
    said = "".join(f' {key}="{value}"' for key, value in how.items())
    derived = f"<LocalTransformations>{local}</LocalTransformations>" if local else ""
    return (
        f'<TreeModel functionName="{kind}"{said}><MiningSchema>{mining}</MiningSchema>{derived}'
        f'<Node id="root"><True/>{nodes}</Node></TreeModel>'
    )


def leaf(predicate: str, score: str, counts: tuple[float, ...] = (), name: str = "", **said: Any) -> str:
    about = "".join(f' {key}="{value}"' for key, value in said.items()) + (f' id="{name}"' if name else "")
    shares = "".join(
        f'<ScoreDistribution value="{c}" recordCount="{n}"/>' for c, n in zip(("low", "high"), counts, strict=False)
    )
    return f'<Node score="{score}"{about}>{predicate}{shares}</Node>'


def simple(field: str, operator: str, value: str) -> str:
    return f'<SimplePredicate field="{field}" operator="{operator}" value="{value}"/>'


def is_in(field: str, words: str, operator: str = "isIn") -> str:
    array = f'<Array type="string">{words}</Array>'
    return f'<SimpleSetPredicate field="{field}" booleanOperator="{operator}">{array}</SimpleSetPredicate>'


def compound(operator: str, *parts: str) -> str:
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


YOUNG, OLD = simple("Age", "lessThan", "30"), simple("Age", "greaterOrEqual", "30")


@pytest.fixture
def read(tmp_path: Path) -> Any:
    return partial(reads("model", "pmml"), tmp_path)


def people(ages: list[float | None], jobs: list[str | None] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"Age": np.array(ages, float), "Job": jobs or ["clerk"] * len(ages)})


def test_counts_of_records_are_read_with_sizes(read: Any) -> None:
    found = read(document(tree(leaf(YOUNG, "low", (3, 1), recordCount=4) + leaf("<True/>", "high", (0, 5)))))
    first, second = found.release.trees[0].leaves
    assert (first.counts, first.n, first.label) == ({"low": 3, "high": 1}, 4, "low")
    assert (second.counts, second.n) == ({"low": 0, "high": 5}, 5)
    assert found.release.target.name == "Pay"
    assert list(predict(found.release, people([29.9, 30, 31]))) == ["low", "high", "high"]
    assert found.exact


def test_shares_are_told_from_counts(read: Any) -> None:
    shares = leaf(YOUNG, "low", (0.75, 0.25), recordCount=1) + leaf("<True/>", "high", (0, 1), recordCount=1)
    found = read(document(tree(shares)))
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": False, "linear": True}
    np.testing.assert_allclose(predict_proba(found.release, people([20, 40])), [[0.75, 0.25], [0, 1]])
    assert any("weights" in lost for lost in found.lost)
    table = people([20, 21, 22, 23, 40, 41]).assign(Pay=["low", "low", "low", "high", "high", "high"])
    found = read(document(tree(shares)), train=table)
    assert [node.rates for node in found.release.trees[0].leaves] == [
        {"low": 0.75, "high": 0.25},
        {"low": 0, "high": 1},
    ]
    assert [node.n for node in found.release.trees[0].leaves] == [None, None]
    sized = leaf(YOUNG, "low", (0.75, 0.25), recordCount=4) + leaf("<True/>", "high", (0, 1), recordCount=2)
    assert read(document(tree(sized))).release.trees[0].leaves[0].counts == {"low": 3, "high": 1}
    assert read(document(tree(leaf(YOUNG, "low", (1, 0)) + leaf("<True/>", "high", (0, 1))))).states["rates"]
    found = read(document(tree(leaf(YOUNG, "high", (0.75, 0.25)) + leaf("<True/>", "high", (0, 1)))))
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": True, "linear": False}
    assert found.release.labels == "decided"
    weighted = leaf(YOUNG, "low", (3.5, 1.25)) + leaf("<True/>", "high", (0, 5))
    assert not read(document(tree(weighted))).states["counts"]


def test_shares_and_counts_are_held_against_the_table(read: Any) -> None:
    table = people([20, 21, 22, 23, 40, 41]).assign(Pay=["low", "low", "low", "high", "high", "high"])
    shares = leaf(YOUNG, "low", (0.75, 0.25)) + leaf("<True/>", "high", (0, 1))
    assert read(document(tree(shares)), train=table).states["rates"]
    other = table.assign(Pay="high")
    assert not read(document(tree(shares)), train=other).states["rates"]
    counts = document(tree(leaf(YOUNG, "low", (3, 1)) + leaf("<True/>", "high", (0, 2))))
    assert read(counts, train=table).states["counts"]
    refused("expected counts 3, 1", read, counts, train=other)


@pytest.mark.parametrize(
    ("predicate", "taken"),
    [
        (is_in("Job", 'clerk "a \\"b\\""'), ["clerk", 'a "b"']),
        (is_in("Job", 'clerk a\\"b\\"'), ["clerk"]),
        (is_in("Job", "clerk", "isNotIn"), ['a "b"', "smith"]),
        (simple("Job", "notEqual", "smith"), ["clerk", 'a "b"']),
        (compound("or", simple("Job", "equal", "smith"), simple("Job", "equal", "clerk")), ["clerk", "smith"]),
        (compound("xor", simple("Job", "equal", "smith"), is_in("Job", "smith clerk")), ["clerk"]),
        (compound("and", "<True/>", is_in("Job", "smith clerk"), simple("Job", "notEqual", "clerk")), ["smith"]),
    ],
)
def test_predicates_of_categories(read: Any, predicate: str, taken: list[str]) -> None:
    found = read(document(tree(leaf(predicate, "low") + leaf("<True/>", "high"))))
    jobs = ["clerk", 'a "b"', "smith"]
    assert [
        j for j, p in zip(jobs, predict(found.release, people([1, 1, 1], jobs)), strict=True) if p == "low"
    ] == taken


def test_a_predicate_of_two_columns_becomes_tests_of_each(read: Any) -> None:
    both = compound("and", YOUNG, simple("Job", "equal", "clerk"))
    found = read(document(tree(leaf(both, "low", (2, 0)) + leaf("<True/>", "high", (0, 3)))))
    rows = people([20, 20, 40, 40], ["clerk", "smith", "clerk", "smith"])
    assert list(predict(found.release, rows)) == ["low", "high", "high", "high"]
    states = [(node.label, node.counts) for node in found.release.trees[0].leaves]
    assert ("low", {"low": 2, "high": 0}) in states
    assert states.count(("high", None)) == 3  # one statement about records that end at three leaves
    assert found.release.labels == "decided"


def test_intervals_of_several_children_are_one_node(read: Any) -> None:
    nodes = leaf(YOUNG, "low") + leaf(simple("Age", "lessOrEqual", "50"), "high") + leaf("<True/>", "low")
    found = read(document(tree(nodes)))
    assert len(found.release.trees[0].nodes) == 4
    assert list(predict(found.release, people([29, 30, 50, 51]))) == ["low", "high", "high", "low"]


NAMED = leaf(YOUNG, "low", name="y") + leaf(OLD, "high", name="o")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"missingValueStrategy": "defaultChild"}, "high"),
        ({"missingValueStrategy": "nullPrediction"}, None),
        ({}, None),
        ({"noTrueChildStrategy": "returnLastPrediction"}, "low"),
        ({"missingValueStrategy": "lastPrediction"}, "low"),
        ({"missingValueStrategy": "weightedConfidence"}, None),
        ({"missingValueStrategy": "aggregateNodes"}, None),
    ],
)
def test_missing_values_go_where_the_strategy_says(read: Any, how: dict[str, str], expected: str | None) -> None:
    text = document(tree(NAMED, **how)).replace('<Node id="root">', '<Node id="root" score="low" defaultChild="o">')
    found = read(text)
    if expected is None:
        assert not found.release.attributes[0].missing
        refused("missing", predict, found.release, people([None]))
        table = people([20, None]).assign(Pay=["low", "high"])
        refused("columns without missing values", read, text, train=table)
    else:
        assert list(predict(found.release, people([None, 20, 40]))) == [expected, "low", "high"]
    parted = any("in parts" in lost for lost in found.lost)
    assert parted == (how.get("missingValueStrategy") in ("weightedConfidence", "aggregateNodes"))


def test_surrogates_take_records_with_missing_values(read: Any, tmp_path: Path) -> None:
    left = compound("surrogate", YOUNG, simple("Job", "equal", "clerk"), "<False/>")
    right = compound("surrogate", OLD, simple("Job", "notEqual", "clerk"), "<True/>")
    found = read(document(tree(leaf(left, "low", (4, 1)) + leaf(right, "high", (2, 3)))))
    rows = people([20, 40, None, None, None], ["smith", "clerk", "clerk", "smith", None])
    assert list(predict(found.release, rows)) == ["low", "high", "low", "high", "high"]
    assert all(node.counts is None for node in found.release.trees[0].leaves)
    assert any("several ways" in lost for lost in found.lost)
    places = found.release.trees[0].leaves
    first = {leaf.label: leaf.id for leaf in reversed(places)}
    assert len(places) > len(first)
    assert [leaf.part_of for leaf in places] == [first[leaf.label] for leaf in places]
    found.release.save(tmp_path / "again.json")
    again = load_release(tmp_path / "again.json")
    assert [leaf.part_of for leaf in again.trees[0].leaves] == [leaf.part_of for leaf in places]


DERIVED = {
    "standardised": '<Apply function="/"><Apply function="-"><FieldRef field="Age"/><Constant>40</Constant></Apply>'
    '<Constant dataType="double">-10</Constant></Apply>',
    "norm": '<NormContinuous field="Age"><LinearNorm orig="0" norm="0"/><LinearNorm orig="40" norm="1"/>'
    '<LinearNorm orig="80" norm="5"/></NormContinuous>',
    "log": '<Apply function="ln"><FieldRef field="Age"/></Apply>',
    "square": '<Apply function="pow"><FieldRef field="Age"/><Constant>2</Constant></Apply>',
    "near": '<Apply function="abs"><Apply function="-"><FieldRef field="Age"/><Constant>40</Constant></Apply></Apply>',
    "if": '<Apply function="if"><Apply function="isMissing"><FieldRef field="Age"/></Apply><Constant>1</Constant>'
    '<FieldRef field="Age"/></Apply>',
    "bins": '<Discretize field="Age" defaultValue="9" dataType="double"><DiscretizeBin binValue="1">'
    '<Interval closure="closedOpen" rightMargin="30"/></DiscretizeBin><DiscretizeBin binValue="2">'
    '<Interval closure="closedClosed" leftMargin="30" rightMargin="50"/></DiscretizeBin></Discretize>',
    "map": '<MapValues outputColumn="o" defaultValue="-1" dataType="double"><FieldColumnPair field="Job" column="i"/>'
    "<InlineTable><row><i>clerk</i><o>3</o></row><row><i>smith</i><o>7</o></row></InlineTable></MapValues>",
    "indicator": '<NormDiscrete field="Job" value="smith"/>',
    "eps": '<Apply function="+"><FieldRef field="Age"/><Apply function="*"><Constant>1.0E-5</Constant>'
    '<Apply function="abs"><FieldRef field="Age"/></Apply></Apply></Apply>',
}


@pytest.mark.parametrize(
    ("expression", "operator", "value", "expected"),
    [
        ("standardised", "lessOrEqual", "1", "0001111"),
        ("norm", "greaterThan", "1.5", "0000011"),
        ("log", "lessThan", "3.4", "1100000"),
        ("square", "lessOrEqual", "900", "1111000"),
        ("near", "lessThan", "10.5", "0011110"),
        ("if", "lessThan", "29", "1100000"),
        ("bins", "equal", "2", "0001110"),
        ("bins", "greaterThan", "1", "0001111"),
        ("map", "lessThan", "5", "1010110"),
        ("indicator", "equal", "1", "0100000"),
        ("eps", "lessOrEqual", "30", "1100000"),
    ],
)
def test_derived_fields_are_undone(read: Any, expression: str, operator: str, value: str, expected: str) -> None:
    local = f'<DerivedField name="d" optype="continuous" dataType="double">{DERIVED[expression]}</DerivedField>'
    found = read(document(tree(leaf(simple("d", operator, value), "low") + leaf("<True/>", "high"), local=local)))
    rows = people([-20 if expression == "near" else 1, 25, 29.9999, 30, 45, 50, 51])
    rows["Job"] = ["clerk", "smith", "clerk", 'a "b"' if expression != "map" else "smith", "clerk", "clerk", "smith"]
    if expression == "indicator":
        rows["Job"] = ["clerk", "smith", *["clerk"] * 5]
    assert "".join("1" if label == "low" else "0" for label in predict(found.release, rows)) == expected
    assert {a.name for a in found.release.attributes} == {"Age", "Job"}


def test_functions_of_the_document_and_of_each_other(read: Any) -> None:
    before = (
        '<TransformationDictionary><DefineFunction name="half" optype="continuous" dataType="double">'
        '<ParameterField name="x"/><Apply function="/"><FieldRef field="x"/><Constant>2</Constant></Apply>'
        '</DefineFunction><DerivedField name="h" optype="continuous" dataType="double"><Apply function="half">'
        '<FieldRef field="Age"/></Apply></DerivedField></TransformationDictionary>'
    )
    local = (
        '<DerivedField name="q" optype="continuous" dataType="float"><Apply function="half"><FieldRef field="h"/>'
        "</Apply></DerivedField>"
    )
    nodes = leaf(simple("q", "lessOrEqual", "7.5"), "low") + leaf("<True/>", "high")
    found = read(document(tree(nodes, local=local), before=before))
    assert list(predict(found.release, people([30, 30.001]))) == ["low", "high"]


@pytest.mark.parametrize(
    ("local", "match"),
    [
        ('<Apply function="*"><FieldRef field="Age"/><FieldRef field="Age"/></Apply>', "a product with a constant"),
        ('<Apply function="sin"><FieldRef field="Age"/></Apply>', "one of the functions"),
        ('<Apply function="+"><FieldRef field="Age"/><FieldRef field="d"/></Apply>', "derived of others"),
        ('<Apply function="+"><FieldRef field="Age"/><FieldRef field="Job"/></Apply>', "one column, not of Age, Job"),
        ('<Lag field="Age"/>', "other than Lag"),
    ],
)
def test_other_derived_fields_are_refused_with_the_reason(read: Any, local: str, match: str) -> None:
    nodes = leaf(simple("d", "lessOrEqual", "7.5"), "low") + leaf("<True/>", "high")
    derived = f'<DerivedField name="d" optype="continuous" dataType="double">{local}</DerivedField>'
    refused(match, read, document(tree(nodes, local=derived)))


def test_the_mining_schema_replaces_missing_and_other_values(read: Any) -> None:
    mining = (
        '<MiningField name="Pay" usageType="target"/><MiningField name="Age" missingValueReplacement="50" '
        'missingValueTreatment="asMean" outliers="asExtremeValues" lowValue="31" highValue="90"/><MiningField '
        'name="Job" invalidValueTreatment="asIs" missingValueReplacement="smith"/>'
    )
    nodes = leaf(YOUNG, "high") + leaf(simple("Job", "equal", "smith"), "low") + leaf("<True/>", "high")
    found = read(document(tree(nodes, mining=mining)))
    rows = people([None, 20, 60, 60], ["smith", "smith", None, "pilot"])
    assert list(predict(found.release, rows)) == ["low", "low", "low", "high"]


def test_a_replacement_of_another_kind_is_refused(read: Any) -> None:
    mining = '<MiningField name="Pay" usageType="target"/><MiningField name="Age" missingValueReplacement="Male"/>'
    with pytest.raises(InvalidInput, match=r"missingValueReplacement: expected a number, not 'Male'"):
        read(document(tree(leaf(YOUNG, "high") + leaf("<True/>", "low"), mining=mining)))


def test_values_of_the_dictionary_may_be_missing_or_not_valid(read: Any) -> None:
    fields = FIELDS.replace(
        '<DataField name="Age" optype="continuous" dataType="double"/>',
        '<DataField name="Age" optype="continuous" dataType="float"><Interval closure="closedClosed" leftMargin="0" '
        'rightMargin="120"/><Value value="-1" property="missing"/></DataField>',
    ).replace('<Value value="smith"/>', '<Value value="smith"/><Value value="?" property="missing"/>')
    nodes = leaf(is_in("Job", "clerk smith"), "low", name="y") + leaf(OLD, "high", name="o")
    mining = MINING.replace('name="Age"', 'name="Age" invalidValueTreatment="asMissing"')
    text = document(tree(nodes, mining=mining, missingValueStrategy="defaultChild"), fields=fields)
    found = read(text.replace('<Node id="root">', '<Node id="root" defaultChild="o">'))
    assert list(predict(found.release, people([20, 20], ["clerk", "?"]))) == ["low", "high"]


def forest(method: str, *segments: str, weights: tuple[float, ...] = ()) -> str:
    given = weights or (1.0,) * len(segments)
    inside = "".join(f'<Segment weight="{w}"><True/>{s}</Segment>' for s, w in zip(segments, given, strict=True))
    return (
        f'<MiningModel functionName="classification"><MiningSchema>{MINING}</MiningSchema>'
        f'<Segmentation multipleModelMethod="{method}">{inside}</Segmentation></MiningModel>'
    )


A = tree(leaf(YOUNG, "low", (4, 1), recordCount=3) + leaf("<True/>", "high", (1, 4), recordCount=5))
B = tree(leaf(simple("Age", "lessOrEqual", "40"), "low", (5, 1), recordCount=6) + leaf("<True/>", "high", (1, 3)))


def test_forests_count_draws(read: Any) -> None:
    found = read(document(forest("average", A, B)))
    assert (found.release.resampled, found.release.predicts) == (10, "mean")
    assert found.release.trees[0].leaves[0].distinct == 3
    shares = predict_proba(found.release, people([20, 35]))
    np.testing.assert_allclose(shares[:, 0], [(0.8 + 5 / 6) / 2, (0.2 + 5 / 6) / 2])


def test_forests_of_other_numbers_of_draws_predict_and_state_nothing(read: Any) -> None:
    more = tree(leaf(YOUNG, "low", (4, 1)) + leaf("<True/>", "high", (1, 40)))
    found = read(document(forest("weightedAverage", A, more, weights=(1, 3))))
    assert (found.release.resampled, found.states["counts"], found.release.predicts) == (None, False, "score")
    assert list(predict(found.release, people([20, 35]))) == ["low", "high"]


def test_votes(read: Any) -> None:
    plain = [tree(leaf(p, "low") + leaf("<True/>", "high")) for p in (YOUNG, "<False/>", "<True/>")]
    found = read(document(forest("majorityVote", *plain)))
    assert (found.release.predicts, found.release.labels) == ("vote", "decided")
    assert list(predict(found.release, people([20, 35]))) == ["low", "high"]
    found = read(document(forest("weightedMajorityVote", *plain, weights=(1, 1, 5))))
    assert list(predict(found.release, people([20, 35]))) == ["low", "low"]


SCORES = tree(leaf(YOUNG, "-2") + leaf("<True/>", "1"), mining='<MiningField name="Age"/>', kind="regression")


def boosted(link: str = "logit", outputs: str = "", *, table: str = "") -> str:
    return (
        f'<MiningModel functionName="classification"><MiningSchema>{MINING}</MiningSchema>'
        '<Segmentation multipleModelMethod="modelChain"><Segment><True/><MiningModel functionName="regression">'
        f'<MiningSchema><MiningField name="Age"/></MiningSchema><Output><OutputField name="f"/>{outputs}</Output>'
        '<Targets><Target rescaleFactor="0.5" rescaleConstant="0.25"/></Targets>'
        '<Segmentation multipleModelMethod="sum">'
        f"<Segment><True/>{SCORES}</Segment><Segment><True/>{SCORES}</Segment></Segmentation></MiningModel></Segment>"
        f'<Segment><True/><RegressionModel functionName="classification" normalizationMethod="{link}"><MiningSchema/>'
        + (
            table
            or '<RegressionTable targetCategory="high" intercept="0.1"><NumericPredictor name="f" coefficient="2"/>'
        )
        + '</RegressionTable><RegressionTable targetCategory="low" intercept="0"/></RegressionModel></Segment>'
        "</Segmentation></MiningModel>"
    )


@pytest.mark.parametrize("link", ["logit", "softmax"])
def test_boosted_trees_are_a_sum_with_a_link(read: Any, link: str) -> None:
    found = read(document(boosted(link)))
    assert found.states["linear"]
    expected = 1 / (1 + np.exp(-np.array([2 * (0.25 + 0.5 * -4) + 0.1, 2 * (0.25 + 0.5 * 2) + 0.1])))
    high = found.release.target.classes.index("high")
    np.testing.assert_allclose(predict_proba(found.release, people([20, 40]))[:, high], expected)


def test_a_score_may_be_changed_on_its_way(read: Any) -> None:
    output = (
        '<OutputField name="g" feature="transformedValue"><Apply function="+"><Apply function="*"><FieldRef field="f"/>'
        "<Constant>2</Constant></Apply><Constant>0.1</Constant></Apply></OutputField>"
    )
    table = '<RegressionTable targetCategory="high" intercept="0"><NumericPredictor name="g" coefficient="1"/>'
    one, other = read(document(boosted(outputs=output, table=table))), read(document(boosted()))
    rows = people([20, 40])
    np.testing.assert_allclose(predict_proba(one.release, rows), predict_proba(other.release, rows))


def test_the_default_children_that_catboost_leaves_out(read: Any) -> None:
    def both(name: str, default: str, inner: str) -> str:
        above = leaf(simple("Age", "greaterThan", "30"), "1", name=f"{name}1")
        return f'<Node id="{name}"{default}>{inner}{above}{leaf("<True/>", "-1", name=f"{name}2")}</Node>'

    nodes = both("a", ' defaultChild="a2"', simple("Job", "equal", "clerk")) + both("b", "", "<True/>")
    how = {"missingValueStrategy": "defaultChild", "kind": "regression"}
    output = '</MiningSchema><Output><OutputField name="f"/></Output>'
    sums = tree(nodes, mining='<MiningField name="Age"/>', **how).replace("</MiningSchema>", output)
    model = (
        f'<MiningModel functionName="classification"><MiningSchema>{MINING}</MiningSchema><Segmentation '
        f'multipleModelMethod="modelChain"><Segment><True/>{sums}</Segment><Segment><True/>'
        '<TreeModel functionName="classification">'
        '<MiningSchema/><Node><True/><Node score="high"><SimplePredicate field="f" operator="greaterThan" value="0"/>'
        '</Node><Node score="low"><True/></Node></Node></TreeModel></Segment></Segmentation></MiningModel>'
    )
    rows = people([40, 20, None], ["smith", "smith", "smith"])
    assert list(predict(read(document(model, application="CatBoost")).release, rows)) == ["high", "low", "low"]
    # By the file alone they have no prediction where no default child is named.
    assert any(node.is_leaf and node.value == 0 for node in read(document(model)).release.trees[0].nodes)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (document(tree(NAMED, kind="regression")), "bin the target"),
        (document(forest("selectFirst", A, B)), "multipleModelMethod"),
        (document(forest("average", A).replace('<Segment weight="1.0"><True/>', f"<Segment>{YOUNG}")), "every record"),
        (document(forest("average", tree(leaf(YOUNG, "low") + leaf("<True/>", "high")))), "shares of the classes"),
        (document("<NeuralNetwork functionName='classification'/>"), "MiningSchema"),
        (document(tree(leaf(simple("Other", "equal", "1"), "low"))), "a field of the data dictionary"),
        (document(tree(leaf(simple("Age", "equal", "x"), "low"))), "a number, not 'x'"),
        (document(tree(leaf(YOUNG, "medium"))), "classes of the target"),
        (document(boosted("probit")), "normalizationMethod"),
        (document(tree(NAMED)).replace("</PMML>", ""), "well-formed XML"),
        (document(tree(leaf(YOUNG, "low", (1, 2)) + leaf("<True/>", "high", (3, -1)))), "a number of records"),
        (document(tree(leaf(is_in("Job", '"clerk'), "low"))), "a quote that ends"),
    ],
)
def test_what_is_no_such_model_is_refused(read: Any, text: str, match: str) -> None:
    refused(match, read, text)


def test_hostile_documents_are_refused(read: Any) -> None:
    plain = document(tree(NAMED)).partition("\n")[2]
    bomb = '<!DOCTYPE PMML [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    for text in (f"<PMML>{bomb}</PMML>", f"<PMML>&a;</PMML>{plain}"):
        refused("well-formed XML", read, text)
    refused("elements within each other", read, document("<x>" * 3_000))
    nested = "<True/>"
    for _ in range(200):
        nested = compound("and", nested, YOUNG)
    refused("predicates within each other", read, document(tree(leaf(nested, "low"))))


def test_a_document_type_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.pmml"
    path.write_text('<!DOCTYPE PMML [<!ENTITY a "a">]>' + document(tree(NAMED)).partition("\n")[2], encoding="utf-8")
    refused("no document type", convert_model, path, Wanted(), reader_of(Reading(format="pmml")))
