"""What a release implies, listed with its origins: words, JSON, LaTeX, Pyomo and NL."""

import json
import re

import casadi
import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by
from support.documents import release_document
from support.paths import ROOT

from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.api.posterior import estimate
from maxent.constraints.program.impurity import impurity_latex
from maxent.results.explanation import explain
from maxent.results.formulas import escaped, latex_document, lifted_program
from maxent.solvers.certainty import sums

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]

WORK = {"name": "Work", "type": "categorical", "values": ["none", "some", "full"]}
CART = release_document(
    "T",
    ["a_b", "50%"],
    [{"name": "Age", "type": "numeric"}, WORK],
    {
        "induction": {"impurity": "gini", "candidates": "thresholds"},
        "nodes": [
            {"id": "N_1", "attribute": "Age", "branches": [{"le": 37.5, "child": "L1"}, {"gt": 37.5, "child": "L2"}]},
            {"id": "L1", "counts": {"a_b": 6, "50%": 1}},
            {"id": "L2", "label": "50%"},
        ],
    },
)
AGES = [20, 21, 22, 30, 31, 32, 37, 40, 41, 42]


@pytest.fixture
def cart(tmp_path):
    """A binary tree over a numeric and a categorical attribute, and its table: the paths of both."""
    return written(tmp_path, CART)


def written(tmp_path, document):
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    rows = zip(AGES, WORK["values"] * 4, strict=False)
    (tmp_path / "qi.csv").write_text("Age,Work\n" + "".join(f"{age},{work}\n" for age, work in rows), encoding="utf-8")
    return [str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")]


def with_encoding(encoding):
    document = json.loads(json.dumps(CART))
    document["trees"][0]["induction"]["encoding"] = encoding
    return document


def test_the_text_is_grouped_by_node_in_tree_order(capsys):
    printed = printed_by(capsys, ["explain", *D1])
    lines = printed.out.splitlines()
    headings = [line.split(":")[0] for line in lines if line and not line.startswith(" ")]
    nodes = ["node N1", "node N2", "leaf L1", "node N4", "leaf L2", "leaf L3", "node N3", "leaf L4", "leaf L5"]
    assert headings == [D1[1], *(node for node in nodes if node != "node N4"), "tree 1", "constraints", "note"]
    assert "  internal  Education chosen over Country (entropy)" in lines
    assert lines[-2] == "constraints: 7 qi, 5 label, 5 rate, 4 internal"
    assert lines[-1].startswith("note: error rates are exact")
    assert printed.err == ""


def test_the_list_counts_what_an_estimate_counts(cart):
    for paths in (D1, cart):
        found = explain(compile_release(*paths))
        rows = dict.fromkeys(found["constraints"], 0)
        for row in found["list"]:
            rows[row["kind"]] += row["rows"]
        assert rows == found["constraints"]
    assert explain(compile_release(*D1))["constraints"] == estimate(*D1).summary["constraints"]


def test_the_json_has_all_about_a_constraint(cart, capsys):
    found = json.loads(printed_by(capsys, ["explain", *cart, "--json"]).out)
    assert set(found) == {"constraints", "list", "unread", "leaves", "statements", "notes", "contradictions"}
    by_kind = {row["kind"]: row for row in found["list"]}
    assert set(by_kind) == {"qi", "label", "counts", "internal"}
    common = {"kind", "origin", "tree", "node", "says", "rows", "individuals"}
    for kind, row in by_kind.items():
        more = {"measure", "chosen", "candidate", "form", "cuts"} if kind == "internal" else {"lower", "upper"}
        assert set(row) == common | more
    counts = by_kind["counts"]
    assert (counts["origin"], counts["tree"], counts["node"], counts["individuals"]) == ("leaf L1", 1, "L1", 7)
    assert counts["lower"] == counts["upper"] == [6.0, 1.0]
    assert (by_kind["label"]["lower"], by_kind["label"]["upper"]) == ([0.0], [None])


def test_cuts_are_in_the_units_of_the_user(cart):
    age, work = (row for row in explain(compile_release(*cart))["list"] if row["kind"] == "internal")
    assert (age["chosen"], age["candidate"], age["form"], age["measure"]) == ("Age", "Age", "cuts", "gini")
    assert age["cuts"] == [float(a) for a in AGES[:-1] if a != 37]  # the cut that was chosen does not compete
    assert age["says"] == "Age chosen over 8 cuts of Age (gini): <= 20, <= 21, <= 22, <= 30, ..."
    assert work["cuts"] == [["none"], ["none", "some"]]
    assert work["says"] == "Age chosen over 2 cuts of Work (gini): <= none, <= some"


def test_single_values_against_the_rest(tmp_path):
    paths = written(tmp_path, with_encoding("onehot"))
    _, work = (row for row in explain(compile_release(*paths))["list"] if row["kind"] == "internal")
    assert (work["form"], work["cuts"]) == ("each", [["none"], ["some"], ["full"]])
    assert work["says"] == "Age chosen over 3 values of Work against the rest (gini): none, some, full"


def test_facts_and_marginals_come_last(cart, tmp_path, capsys):
    (tmp_path / "facts.csv").write_text("Age,T\n20,a_b\n", encoding="utf-8")
    (tmp_path / "marginal.csv").write_text("T,count\na_b,7\n50%,3\n", encoding="utf-8")
    call = ["--facts", str(tmp_path / "facts.csv"), "--marginal", str(tmp_path / "marginal.csv")]
    *_, marginal, fact = json.loads(printed_by(capsys, ["explain", *cart, *call, "--json"]).out)["list"]
    assert (marginal["kind"], marginal["tree"], marginal["lower"]) == ("marginal", None, [7.0, 3.0])
    assert (fact["origin"], fact["node"], fact["individuals"]) == (f"{call[1]}, line 2", None, 1)
    check_latex(printed_by(capsys, ["explain", *cart, *call, "--latex"]).out)


def test_contradictions_are_named(tmp_path, capsys):
    document = json.loads(json.dumps(CART))
    document["trees"][0]["nodes"][2]["n"] = 4
    text = printed_by(capsys, ["explain", *written(tmp_path, document)]).out
    assert "contradiction: leaf L2: 4 records, but 3 individuals of the table reach it" in text


STATED = str(ROOT / "examples/statements/table1.json")


def test_statements_are_no_tree(capsys):
    kind = {"kind": "table", "source": "Table 1", "where": None}
    for trees in ([], D1[:1]):
        call = ["explain", STATED, *trees, D1[1]]
        text = printed_by(capsys, call).out
        assert "\ntable1.json: 1 statement; compiled, in rows: 4; table (Table 1)\n" in text
        assert "tree 1" not in text
        assert ("tree 2: 5 leaves" in text) == bool(trees)
        found = json.loads(printed_by(capsys, [*call, "--json"]).out)
        assert [row["tree"] for row in found["leaves"]] == [2] * len(trees)
        assert found["statements"] == [{"file": "table1.json", "statements": [kind], "rows": 4}]
    latex = printed_by(capsys, [*call, "--latex"]).out
    check_latex(latex)
    assert r"\item table1.json, table: Table 1" in latex


def test_statements_name_values_in_no_order(cart, tmp_path):
    said = [{"kind": "count", "class": "a_b", "where": {"Work": ["full", "none"]}, "equals": 5}]
    document = {"format": "maxent-statements/1", "target": {"name": "T", "classes": ["a_b", "50%"]}, "statements": said}
    (tmp_path / "s.json").write_text(json.dumps(document), encoding="utf-8")
    files = [str(tmp_path / "s.json"), cart[0]]
    first, last = (explain(compile_release(order, cart[1])) for order in (files, files[::-1]))
    assert first["constraints"] == last["constraints"]
    assert not any("different orders" in note for note in first["notes"])


PAPER = {"format": "maxent-statements/1", "target": {"name": "T", "classes": ["a", "b"]}}
WEIGHED = {"kind": "linear", "weight": "w", "class": "a", "source": "Text"}
OPEN = [{"at": ["y"], "class": "a", "count": [0, 2]}]
LONE = {"kind": "count", "class": "a", "where": {"g": "y"}, "source": "Row"}


@pytest.mark.parametrize(
    ("statements", "origins", "whole"),
    [
        ([LONE | {"equals": 5}], ["s.json, Row"], False),
        ([WEIGHED | {"equals": 16}, LONE | {"equals": 0}], ["s.json, Text", "s.json, Row"], False),
        ([WEIGHED | {"equals": 4}, {"kind": "table", "by": ["g"], "cells": OPEN}], ["s.json, Text"], True),
    ],
)
def test_statements_that_contradict_each_other_are_named_as_audit_does(
    tmp_path, capsys, monkeypatch, statements, origins, whole
):
    monkeypatch.setattr(sums, "SEARCH", 1e3)
    (tmp_path / "s.json").write_text(json.dumps({**PAPER, "statements": statements}), encoding="utf-8")
    (tmp_path / "qi.csv").write_text("w,g\n3,x\n3,y\n5,x\n5,y\n", encoding="utf-8")
    call = [str(tmp_path / "s.json"), str(tmp_path / "qi.csv")]
    found = json.loads(printed_by(capsys, ["explain", *call, "--json"]).out)["contradictions"]
    text = printed_by(capsys, ["explain", *call]).out
    assert [each["origin"] for each in found] == origins
    assert text.count("contradiction: ") == 1
    assert all(f"{each['origin']}: " in text and each["says"] in text for each in found)
    assert ("whole people" in text) == whole
    assert main(["audit", *call]) == 2
    refused = capsys.readouterr().err
    assert all(f"{each['origin']}: " in refused and each["says"] in refused for each in found)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_the_list_in_a_file(cart, tmp_path, suffix):
    output = tmp_path / f"list{suffix}"
    assert main(["explain", *cart, "-o", str(output)]) == 0
    expected = explain(compile_release(*cart))
    if suffix == ".json":
        assert json.loads(output.read_text(encoding="utf-8")) == {"format": "maxent-constraints/1", **expected}
        return
    table = pd.read_parquet(output) if suffix == ".parquet" else pd.read_csv(output)
    assert table["says"].tolist() == [row["says"] for row in expected["list"]]
    assert json.loads(table["upper"][1] if table["kind"][1] != "internal" else table["cuts"][1])
    if suffix == ".csv":
        assert ",1,L1," in output.read_text(encoding="utf-8")


def check_latex(text):
    """What a compiler would stumble over first: unbalanced groups, environments or formulas."""
    bare = text.replace(r"\{", "").replace(r"\}", "").replace(r"\$", "")
    assert bare.count("{") == bare.count("}")
    lists = 1 + text.count(r"\section*{Sets of individuals}") + text.count(r"\section*{Statements}")
    assert re.findall(r"\\begin\{(\w+)\}", text) == ["document", *["itemize"] * lists]
    assert re.findall(r"\\end\{(\w+)\}", text) == [*["itemize"] * lists, "document"]
    for line in bare.splitlines():
        assert line.count("$") % 2 == 0
        assert line.count(r"\left") == line.count(r"\right")
    assert not re.search(r"(?<!\\)[%#&]", text)
    assert text.isascii()


@pytest.mark.parametrize("measure", ["gini", "entropy", "gain_ratio"])
def test_the_latex_is_a_document(cart, capsys, measure):
    text = printed_by(capsys, ["explain", *cart, "--latex", "--impurity", measure]).out
    check_latex(text)
    assert impurity_latex(measure) in text
    assert r"\text{maximise}" in text
    assert r"\item leaf L1, counts: $m_{\text{L1},\text{a\_b}} = 6$" in text
    assert r"E(\text{N\_1}, \text{Age}) \le E(\text{N\_1}, \text{Age} \le 20)" in text


def test_every_constraint_is_a_formula():
    program = compile_release(*D1)
    assert latex_document(program).count(r"\item") == len(explain(program)["list"])


def test_special_characters_are_themselves():
    assert escaped("a_b & 50%{#}$^~\\") == (r"a\_b \& 50\%\{\#\}\$\textasciicircum{}\textasciitilde{}\textbackslash{}")
    assert escaped("<=--\n") == r"\textless{}=-{}-{}\textbackslash{}n"


def test_the_pyomo_model_says_what_its_indices_are(cart, tmp_path, capsys):
    path = tmp_path / "model.txt"
    printed_by(capsys, ["explain", *cart, "--pyomo", str(path)])
    comments, _, model = path.read_text(encoding="utf-8").partition("\n\n")
    assert all(line.startswith("#") for line in comments.splitlines())
    assert "# mass[0]: T=a_b | Age=20, Work=none (leaf L1)" in comments
    for name in ("mass", "aggregate", "negative_entropy", "linear", "internal"):
        assert f"    {name} : Size=" in model
    part = lifted_program(compile_release(*cart))
    assert comments.count("# mass[") == part.program.n_masses
    assert comments.count("# linear[") == len(part.program.origins)
    assert comments.count("# internal[") == 10


def test_the_nl_file_is_the_program(cart, tmp_path, capsys):
    path = tmp_path / "model.nl"
    printed_by(capsys, ["explain", *cart, "--nl", str(path)])
    part = lifted_program(compile_release(*cart))
    builder = casadi.NlpBuilder()
    builder.import_nl(str(path))
    assert len(builder.x) == part.program.n
    assert len(builder.g) == len(part.program.origins) + len(part.program.nl_origins)
    names = (tmp_path / "model.col").read_text(encoding="utf-8").split()
    assert len((tmp_path / "model.row").read_text(encoding="utf-8").split()) == len(builder.g) + 1
    n_masses = part.program.n_masses
    order = [int(name[5:-1]) if name.startswith("mass[") else n_masses + int(name[10:-1]) for name in names]
    assert sorted(order) == list(range(part.program.n))
    weight = part.program.mass_weight
    point = part.point(np.full(part.known.shape, 0.25))
    objective = casadi.Function("f", [casadi.vertcat(*builder.x)], [builder.f])
    masses = point[: len(weight)]
    assert float(objective(point[order])) == pytest.approx(float((masses * np.log(masses / weight)).sum()))


def test_a_program_without_unknowns_can_be_exported(tmp_path, capsys):
    document = json.loads(json.dumps(CART))
    document["trees"][0]["nodes"][1] = {"id": "L1", "counts": {"a_b": 7, "50%": 0}}
    document["trees"][0]["nodes"][2] = {"id": "L2", "counts": {"a_b": 0, "50%": 3}}
    model, nl = tmp_path / "model.txt", tmp_path / "model.nl"
    assert main(["explain", *written(tmp_path, document), "--pyomo", str(model), "--nl", str(nl)]) == 0
    assert "# 0 masses" in model.read_text(encoding="utf-8")
    assert nl.exists()


def test_several_trees_and_private_attributes(tmp_path, capsys):
    document = json.loads(json.dumps(CART))
    document["attributes"].append({"name": "Car", "type": "categorical", "values": ["yes", "no"], "role": "private"})
    branches = [{"in": ["yes"], "child": "L1"}, {"in": ["no"], "child": None}]
    nodes = [{"id": "N1", "attribute": "Car", "branches": branches}, {"id": "L1", "counts": {"a_b": 2, "50%": 1}}]
    document["trees"].append({"nodes": nodes})
    paths = written(tmp_path, document)
    model = tmp_path / "model.txt"
    found = json.loads(printed_by(capsys, ["explain", *paths, "--pyomo", str(model), "--json"]).out)["list"]
    assert [(row["tree"], row["node"]) for row in found if row["kind"] == "counts"] == [(1, "L1"), (2, "L1")]
    text = model.read_text(encoding="utf-8")
    assert "(tree 1, leaf L1; tree 2, leaf L1)" in text
    assert "(tree 1, leaf L1; tree 2, removed leaf)" in text
    assert "tree 2, leaf L1: 10 individuals" in printed_by(capsys, ["explain", *paths]).out
    check_latex(printed_by(capsys, ["explain", *paths, "--latex"]).out)
