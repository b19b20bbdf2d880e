"""Releases as queries, rules, tables, graphs, drawings and classifiers: they say and predict what the release does."""

import csv
import io
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from support.calls import printed_by, refused
from support.paths import D1
from support.strategies import cases, thorough

import maxent
from maxent.__main__ import main
from maxent.api.predict import predict
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.writers.registry import WRITERS
from maxent.models.release import Boosting

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*/tree.json"))
RELEASE = {
    "format": "maxent/1",
    "target": {"name": "it's", "classes": ["no", "'yes'", "maybe"]},
    "attributes": [
        {"name": 'a "quoted" name', "type": "categorical", "values": ["x", "y's", "(missing)", "(other)"]},
        {"name": "predicted", "type": "numeric", "missing": True},
        {"name": "z", "type": "categorical", "values": ["0", "1", "2"]},
    ],
    "trees": [
        {
            "nodes": [
                {
                    "id": "top",
                    "attribute": "predicted",
                    "branches": [
                        {"le": 0.1, "child": "it's"},
                        {"gt": 0.1, "le": 2, "child": "M"},
                        {"gt": 2, "missing": True, "child": "Z"},
                    ],
                },
                {
                    "id": "it's",
                    "attribute": 'a "quoted" name',
                    "branches": [
                        {"in": ["x", "(missing)"], "child": "A"},
                        {"in": ["y's"], "child": None},
                        {"in": ["(other)"], "child": "B"},
                    ],
                },
                {"id": "M", "attribute": "predicted", "branches": [{"le": 1, "child": "C"}, {"gt": 1, "child": "D"}]},
                {
                    "id": "Z",
                    "attribute": "z",
                    "branches": [{"in": ["0"], "child": "E"}, {"in": ["1", "2"], "child": "F"}],
                },
                {"id": "A", "counts": {"no": 3, "'yes'": 1}},
                {"id": "B", "counts": {"no": 0, "'yes'": 4}},
                {"id": "C", "counts": {"no": 1, "maybe": 7}},
                {"id": "D", "counts": {}},
                {"id": "E", "counts": {"'yes'": 3}},
                {"id": "F", "counts": {"maybe": 1}},
            ]
        }
    ],
}


def rows(release, n=60, seed=0):
    """A row for values that are declared, and some that are not; missing ones where the release has them."""
    rng = np.random.default_rng(seed)
    columns = {}
    for attribute in release.attributes:
        if attribute.values is None:
            cuts = [
                b.le
                for t in release.trees
                for node in t.nodes
                if node.attribute == attribute.name
                for b in node.branches
            ]
            known = np.array([c for c in cuts if c is not None] or [0.0])
            column = rng.choice(np.concatenate([known, np.nextafter(known, np.inf), known - 1, known + 1]), n)
            columns[attribute.name] = np.where((rng.random(n) < 0.2) & attribute.missing, np.nan, column)
        else:
            values = [value for value in attribute.values if not value.startswith("(")]
            missing = [None] * ("(missing)" in attribute.values)
            columns[attribute.name] = rng.choice(np.array([*values, *missing, "unknown"], object), n)
    return pd.DataFrame(columns)


def queried(release, frame, table="data"):
    database = duckdb.connect()
    database.register("given", frame.assign(row=range(len(frame))))
    database.execute("create table data as select * from given")
    return database.execute(maxent.export(release, to="sql", table=table)).df().sort_values("row", ignore_index=True)


def assert_same_predictions(release, frame):
    expected, found = predict(release, frame).frame, queried(release, frame)
    ours = [name for name in expected.columns[len(frame.columns) :] if not name.endswith("leaf")]
    assert "maxent_predicted" in ours or "predicted" in ours
    for name in ours:
        if "P(" in name:
            np.testing.assert_allclose(found[name].astype(float), expected[name].astype(float), atol=1e-15)
        else:
            assert found[name].tolist() == expected[name].tolist()
    return expected, found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_a_query_predicts_as_the_examples_do(path):
    release = maxent.load_release(path)
    expected, found = assert_same_predictions(release, rows(release))
    assert ("1:" + found["leaf"]).tolist() == expected["leaf"].tolist()


@given(cases(), st.integers(0, 99))
@thorough(25)
@pytest.mark.slow
def test_a_query_predicts_as_any_release_does(case, seed):
    assert_same_predictions(case.release, rows(case.release, 20, seed))


@pytest.mark.parametrize("predicts", [None, "vote", "mean"])
@pytest.mark.parametrize("n_trees", [1, 2])
def test_a_query_treats_missing_unknown_and_removed_as_the_release_does(predicts, n_trees):
    tree = parse_release(RELEASE, "r").trees[0]
    release = replace(parse_release(RELEASE, "r"), trees=(tree,) * n_trees, predicts=predicts)
    assert_same_predictions(release, rows(release, 200))


@pytest.mark.parametrize("named", [("True", "False"), ("True", "(other)")])
def test_a_query_reads_truth_values_of_a_database(named):
    branches = [{"in": [value], "child": leaf} for value, leaf in zip(named, "AB", strict=True)]
    nodes = [{"id": "N", "attribute": "z", "branches": branches}]
    nodes += [{"id": leaf, "label": label} for leaf, label in (("A", "no"), ("B", "maybe"))]
    attribute = {"name": "z", "type": "categorical", "values": list(named)}
    release = parse_release({**RELEASE, "attributes": [attribute], "trees": [{"nodes": nodes}]}, "r")
    assert queried(release, pd.DataFrame({"z": [True, False]}))["predicted"].tolist() == ["no", "maybe"]


@pytest.mark.parametrize("name", ["LEAF", "Leaf 2", "own 0", "instead 1", "score 0", "Weight(Maybe)"])
@pytest.mark.parametrize("n_trees", [1, 2])
def test_a_query_reads_its_own_columns_whatever_attributes_are_called(name, n_trees):
    text = json.dumps({**RELEASE, "target": {"name": "y", "classes": ["no", "NO", "maybe"]}})
    text = text.replace("'yes'", "NO").replace('"z"', json.dumps(name)).replace('"predicted"', '"Predicted"')
    one = parse_release(json.loads(text), "r")
    frame = rows(one, 100)
    for predicts, kind in ((None, "counts"), ("score", "value")):
        nodes = tuple(
            replace(n, counts=None, value={c: float(len(n.id) + i) for i, c in enumerate(n.counts)})
            if kind == "value" and n.counts is not None
            else n
            for n in one.trees[0].nodes
        )
        trees = (replace(one.trees[0], nodes=nodes),) * n_trees
        boosting = Boosting("softmax") if predicts == "score" else None
        release = replace(one, trees=trees, predicts=predicts, boosting=boosting)
        database = duckdb.connect()
        database.register("given", frame.assign(row=range(len(frame))))
        database.execute("create table data as select * from given")
        found = database.execute(maxent.export(release, to="sql")).df().sort_values("row")
        assert found["maxent_predicted"].tolist() == predict(release, frame).frame["predicted"].tolist()


@pytest.mark.parametrize("link", ["logit", "softmax", "none"])
def test_a_query_adds_scores(link):
    one = parse_release(RELEASE, "r")
    classes = ("no", "yes") if link == "logit" else ("no", "'yes'", "maybe")
    values = iter(np.random.default_rng(0).normal(size=100).tolist())

    def scored(node):
        value = next(values) if link == "logit" else {c: next(values) for c in classes}
        return replace(node, counts=None, value=value) if node.is_leaf else node

    nodes = [
        n if n.attribute != "z" else replace(n, branches=(n.branches[0], replace(n.branches[1], values=("1", "2"))))
        for n in one.trees[0].nodes
    ]
    of = "yes" if link == "logit" else None
    trees = tuple(replace(one.trees[0], nodes=tuple(map(scored, nodes)), of_class=of) for _ in range(3))
    target = replace(one.target, classes=classes)
    release = replace(
        one, target=target, trees=trees, predicts="score", boosting=Boosting(link, 0.1, 1.0, 0.3 if of else {"no": 0.2})
    )
    assert_same_predictions(release, rows(release, 200))


def test_the_docs_list_every_form():
    page = (Path(__file__).parents[2] / "docs/howto/export.md").read_text()
    rows = [f"| `{writer.name}` | `{writer.suffix}` | {writer.words} |" for writer in WRITERS.values()]
    assert re.findall(r"^\| `.*\|$", page, re.M)[1:] == rows


@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_query_predicts_numbers(n_trees):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 70, 200), "job": rng.integers(0, 5, 200)})
    y = X["age"] * 2.5 + rng.normal(size=200)
    model = RandomForestRegressor(n_trees, max_depth=4, bootstrap=False, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="income", X=X, bins=[0, 100, 500])
    np.testing.assert_allclose(queried(release, X)["predicted"].astype(float), model.predict(X), rtol=1e-14)
    assert "variance" in maxent.export(release, to="rules")
    assert ",mean,variance\n" in maxent.export(release, to="csv")


def through_pmml(release, tmp_path, *, own):
    """A release written as PMML and read again: as what maxent wrote, or as other programs read it."""
    text = maxent.export(release, tmp_path / "tree.pmml")
    if not own:
        text = re.sub(r" *<Extension .*/>\n", "", text)
        (tmp_path / "tree.pmml").write_text(text)
    return maxent.convert(tmp_path / "tree.pmml")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_pmml_gives_examples_back(path, tmp_path):
    release = maxent.load_release(path)
    assert through_pmml(release, tmp_path, own=True) == release
    read = through_pmml(release, tmp_path, own=False)
    frame = rows(release)
    known = frame[~frame.isin(["unknown"]).any(axis=1)]
    assert predict(read, known).frame["predicted"].tolist() == predict(release, known).frame["predicted"].tolist()
    sizes = [leaf.n for leaf in read.trees[0].leaves if leaf.n is not None]  # other values end in leaves of their own
    assert sorted(sizes) == sorted(leaf.n for leaf in release.trees[0].leaves)


@given(cases(), st.integers(0, 99))
@thorough(25)
def test_pmml_gives_any_tree_back(tmp_path_factory, case, seed):
    assert through_pmml(case.release, tmp_path_factory.mktemp("pmml"), own=True) == case.release


def test_pmml_says_to_other_programs_what_the_release_says(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 70, 300), "job": rng.integers(0, 5, 300)})
    y = (X["age"] > 40).astype(int) + (X["job"] == 2)
    forest = RandomForestClassifier(5, max_depth=4, bootstrap=False, random_state=0).fit(X, y)
    boosted = [GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, labels) for labels in (y, y > 0)]
    number = RandomForestRegressor(3, max_depth=3, bootstrap=False, random_state=0).fit(X, X["age"] * 2.5)
    for model in (forest.estimators_[0], forest, *boosted):
        names = ["no", "some", "much"][: len(model.classes_)]
        release = maxent.from_sklearn(model, target="y", X=X, features=list(X), classes=names)
        assert through_pmml(release, tmp_path, own=True) == release
        read = through_pmml(release, tmp_path, own=False)
        found, expected = predict(read, X).frame, predict(release, X).frame
        assert found["predicted"].tolist() == expected["predicted"].tolist()
        shares = [name for name in expected if name.startswith("P(")]
        np.testing.assert_allclose(found[shares].astype(float), expected[shares].astype(float), atol=1e-12)
        if model is forest.estimators_[0]:
            assert [leaf.counts for leaf in read.trees[0].leaves] == [leaf.counts for leaf in release.trees[0].leaves]
    release = maxent.from_sklearn(number, target="pay", X=X, bins=[0, 100, 200])
    assert through_pmml(release, tmp_path, own=True) == release


def test_pmml_that_was_changed_is_read_as_it_stands(tmp_path):
    text = maxent.export(EXAMPLES[0], tmp_path / "tree.pmml")
    (tmp_path / "tree.pmml").write_text(text.replace('recordCount="2"', 'recordCount="3"', 1))
    read = maxent.convert(tmp_path / "tree.pmml")
    assert read != maxent.load_release(EXAMPLES[0])
    assert 3 in [leaf.n for leaf in read.trees[0].leaves]


def test_pmml_has_no_sum_of_counts():
    tree = parse_release(RELEASE, "r")
    with pytest.raises(maxent.InvalidInput, match="predicts: expected vote, mean or score of several trees"):
        maxent.export(replace(tree, trees=tree.trees * 2), to="pmml")


def test_pmml_refuses_names_that_no_xml_can_hold():
    release = parse_release(json.loads(json.dumps(RELEASE).replace("it's", "it\\u0001s")), "r")
    refused("names: expected names without control characters", maxent.export, release, to="pmml")


def test_rules_state_what_leaves_state():
    text = maxent.export(parse_release(RELEASE, "r"), to="rules")
    assert text.startswith('it\'s, predicted from a "quoted" name, predicted, z\n')
    assert "IF 0.1 < predicted <= 1\nTHEN no label (counts no 1, maybe 7)\n" in text
    assert 'IF predicted <= 0.1 and a "quoted" name in {y\'s}\nTHEN a removed leaf\n' in text
    assert "IF (predicted > 2 or predicted is missing) and z in {1, 2}\n" in text
    assert text.count("IF ") == 7


def test_a_table_of_rules_has_a_row_for_each_leaf(tmp_path):
    maxent.export(EXAMPLES[0], tmp_path / "tree.csv")
    release = maxent.load_release(EXAMPLES[0])
    found = list(csv.DictReader(io.StringIO((tmp_path / "tree.csv").read_text())))
    assert [row["leaf"] for row in found] == [leaf.id for leaf in release.trees[0].leaves]
    assert [row["n"] for row in found] == [str(leaf.n) for leaf in release.trees[0].leaves]
    one = list(csv.DictReader(io.StringIO(maxent.export(parse_release(RELEASE, "r"), to="csv"))))
    assert [row["counts('yes')"] for row in one] == ["1", "", "4", "0", "0", "3", "0"]


def test_a_graph_and_a_drawing_have_every_place():
    release = parse_release(RELEASE, "r")
    dot = maxent.export(release, to="dot")
    assert len(re.findall(r"^  t1_\d+ \[", dot, re.M)) == 11
    assert len(re.findall(r"->", dot)) == 10
    assert '[label="a \\"quoted\\" name"]' in dot
    drawn = ElementTree.fromstring(maxent.export(release, to="svg"))
    assert len(drawn.findall(".//{*}rect")) == 11
    assert len(drawn.findall(".//{*}path")) == 10
    assert "removed" in [text.text for text in drawn.findall(".//{*}text")]


def test_a_classifier_predicts_in_the_place_of_the_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 70, 300), "job": rng.integers(0, 5, 300)})
    y = (X["age"] > 40).astype(int) + (X["job"] == 2)
    model = make_pipeline(RandomForestClassifier(5, max_depth=4, bootstrap=False, random_state=0)).fit(X, y)
    release = maxent.from_sklearn(model[-1], target="y", X=X)
    place = make_pipeline(maxent.ReleaseClassifier(release, classes=[0, 1, 2]))
    assert place.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(place.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert place.predict(X.to_numpy()).tolist() == place.predict(X).tolist()
    assert place.score(X, y) == model.score(X, y)
    assert_same_predictions(release, X)
    with pytest.raises(maxent.InvalidInput, match="classes: expected 3 classes"):
        maxent.ReleaseClassifier(release, classes=[0, 1]).predict(X)
    with pytest.raises(maxent.InvalidInput, match=r"classes: expected each class once, found \[0, 0, 1\]"):
        maxent.ReleaseClassifier(release, classes=[0, 0, 1]).predict(X)
    with pytest.raises(maxent.InvalidInput, match="X: expected a column for each of 2 attributes"):
        maxent.ReleaseClassifier(release).predict(X.to_numpy()[:, :1])


def test_the_command_writes_files_and_refuses_what_it_does_not_know(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tree = str(EXAMPLES[0])
    for name, writer in WRITERS.items():
        assert main(["export", tree, "-o", f"tree{writer.suffix}"]) == 0
        assert capsys.readouterr().out == f"tree{writer.suffix}: {writer.words}; 1 tree, 5 leaves\n"
        assert main(["export", tree, "--to", name]) == 0
        assert Path(f"tree{writer.suffix}").read_text() == capsys.readouterr().out
    assert main(["export", tree, "-o", "query.sql", "--table", "people.all"]) == 0
    assert 'FROM "people"."all" AS t' in Path("query.sql").read_text()
    capsys.readouterr()
    assert main(["export", tree, "--to", "dot", "--json"]) == 0
    told = {"to": "dot", "file": None, "trees": 1, "leaves": 5, "text": Path("tree.dot").read_text()}
    assert json.loads(capsys.readouterr().out) == told
    for wrong, message in (
        (["-o", "tree.doc"], "'tree.doc'"),
        (["--to", "sqll"], "did you mean 'sql'?"),
        (["--to", "sql", "-o", "tree.csv"], "a file name that ends in .sql"),
        ([], "found nothing"),
        (["--to", "sql", "--table", ""], "the name of a table"),
        (["--to", "sql", "--table", "a..b"], "the name of a table, a schema before a dot, found 'a..b'"),
    ):
        assert message in printed_by(capsys, ["export", tree, *wrong], 2).err


@pytest.mark.parametrize(("n_trees", "predicts"), [(1, None), (2, "vote")])
def test_a_query_does_not_read_further_columns_that_are_called_as_its_own(predicts, n_trees):
    base = parse_release(RELEASE, "r")
    release = replace(base, trees=base.trees * n_trees, predicts=predicts)
    frame = rows(release, 40)
    ours = ["leaf", "leaf 1", "weight(no)", "P(maybe)", "own 0", "instead 0", "score 0", "placed", "weighed"]
    further = frame.assign(**{name: ["E"] * len(frame) for name in ours})
    expected, found = queried(release, frame), queried(release, further)
    assert len(found) == len(frame)
    for name in expected.columns[len(frame.columns) + 1 :]:
        assert found[f"{name}_1" if name in ours else name].tolist() == expected[name].tolist(), name


def test_whole_numbers_are_the_categories_that_they_spell():
    nodes = [
        {"id": "top", "attribute": "z", "branches": [{"in": ["0"], "child": "A"}, {"in": ["1", "2.0"], "child": "B"}]},
        {"id": "A", "counts": {"no": 1}},
        {"id": "B", "counts": {"yes": 2}},
    ]
    attribute = {"name": "z", "type": "categorical", "values": ["0", "1", "2.0"]}
    target = {"name": "y", "classes": ["no", "yes"]}
    document = {"format": "maxent/1", "target": target, "attributes": [attribute], "trees": [{"nodes": nodes}]}
    release = parse_release(document, "r")
    for cells in ([0.0, 1.0, 2.0, 7.0], [0, 1, 2, 7]):
        _, found = assert_same_predictions(release, pd.DataFrame({"z": cells}))
        assert found["leaf"].tolist() == ["A", "B", "B", "top"]
    assert maxent.ReleaseClassifier(release).predict(np.array([[0.0], [2.0]])).tolist() == ["no", "yes"]
    assert maxent.estimate(release, pd.DataFrame({"z": [0.0, 1.0, 1.0]})).program.table.counts.tolist() == [1, 2]
    texts = pd.DataFrame({"z": ["0.0"]})  # of text every spelling is a value of its own
    refused(r"expected one of '0', '1', '2.0', found '0.0'", maxent.estimate, release, texts)


def test_the_query_names_databases_that_run_it_in_its_first_line():
    """DuckDB, which the first line names, runs the query; SQLite, which it excludes, does not."""
    query = maxent.export(maxent.load_release(D1 / "tree.json"), to="sql", table="people")
    first = query.splitlines()[0]
    assert first.startswith("-- for DuckDB and PostgreSQL;")
    assert "not for SQLite, which has no LATERAL" in first
    people = pd.read_csv(D1 / "qi.csv")
    database = duckdb.connect()
    database.register("people", people)
    assert len(database.execute(query).df()) == len(people)
    with closing(sqlite3.connect(":memory:")) as other:
        people.to_sql("people", other, index=False)
        with pytest.raises(sqlite3.OperationalError):
            other.execute(query)


def test_the_comment_of_a_query_ends_no_line_and_hides_nothing():
    """A name of the target stands in a comment: what could end it or turn its direction is escaped."""
    release = maxent.load_release(D1 / "tree.json")
    named = replace(release, target=replace(release.target, name="a\x1b\u202eb\u2028; DROP TABLE people"))
    title = maxent.export(named, to="sql", table="people").split("\n")[1]
    assert title.startswith("-- a\\x1b\\u202eb")
    assert title.isprintable()
