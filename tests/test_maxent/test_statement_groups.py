"""Groups that statements beside trees, or alone, single out: no check passes them for the sake of leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.commands.main import run

CLASSES = ("no", "yes")
TARGET = {"name": "y", "classes": [*CLASSES]}
LIMITS: dict[str, Any] = {
    **{"min_leaf": 10, "min_cell": 10, "max_zeros": 0, "max_pure": 0, "nk_dominance": {"n": 2, "k": 0.9}},
    **{"p_ratio": 0.1, "min_k": 10, "max_background": 0, "min_stated_cell": 10, "max_stated_zeros": 0},
}
Fact = dict[str, Any]


def people(men: int = 20) -> pd.DataFrame:
    """Forty young people, twenty of them men; forty old ones with so many men."""
    sex = ["m", "f"] * 20 + ["m"] * men + ["f"] * (40 - men)
    frame = pd.DataFrame({"age": ["young"] * 40 + ["old"] * 40, "sex": sex, "years": np.repeat([20, 30, 60, 70], 20)})
    return frame.assign(y=["yes", "no", "no", "yes"] * 20)


def counts(group: pd.DataFrame) -> dict[str, int]:
    return {klass: int((group["y"] == klass).sum()) for klass in CLASSES}


def tree(folder: Path, frame: pd.DataFrame, *columns: str) -> Path:
    """A tree of one split with counts for each column."""
    attributes = [{"name": c, "type": "categorical", "values": sorted(set(frame[c]))} for c in columns]
    trees = [
        {
            "nodes": [
                {"id": "r", "attribute": c, "branches": [{"in": [v], "child": v} for v in sorted(set(frame[c]))]},
                *({"id": v, "counts": counts(frame[frame[c] == v])} for v in sorted(set(frame[c]))),
            ]
        }
        for c in columns
    ]
    return written(folder / "tree.json", {"format": "maxent/1", "attributes": attributes, "trees": trees})


def written(path: Path, said: Fact) -> Path:
    path.write_text(json.dumps({**said, "target": TARGET}), encoding="utf-8")
    return path


def paper(folder: Path, *statements: Fact, name: str = "paper.json") -> Path:
    return written(folder / name, {"format": "maxent-statements/1", "statements": list(statements)})


def table(frame: pd.DataFrame, *by: str, **more: Any) -> Fact:
    """A cross table of the people of class yes."""
    cells = [
        {"at": [at] if isinstance(at, str) else [*at], "class": "yes", "count": counts(group)["yes"]}
        for at, group in frame.groupby(list(by) if len(by) > 1 else by[0])
    ]
    return {"kind": "table", "source": "Table 1", "by": [*by], "cells": cells, **more}


def judged(release: Any, frame: pd.DataFrame, limits: Fact) -> dict[str, Any]:
    rows = maxent.check(release, frame.drop(columns="y"), {"limits": limits}).rows
    return {row.check.key: row.finding for row in rows if row.check.key in limits}


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("limit", LIMITS)
def test_a_check_of_groups_fails_by_a_cell_of_one_and_passes_large_cells(
    limit: str, beside: bool, tmp_path: Path
) -> None:
    for men, status in ((1, "fail"), (20, "pass")):
        frame = people(men)
        release = [*[tree(tmp_path, frame, "age")] * beside, paper(tmp_path, table(frame, "age", "sex"))]
        found = judged(release, frame, {limit: LIMITS[limit]})[limit]
        assert found.status == status, found.said
        assert ("paper.json, Table 1, cell age old, sex m" in found.said) >= (status == "fail")


@pytest.mark.parametrize("said", ["review", "audit", "compare", "parts", "estimate"])
def test_every_command_judges_the_groups_that_statements_single_out(said: str, tmp_path: Path, capsys: Any) -> None:
    for men, status in ((1, 3), (20, 0)):
        frame = people(men)
        frame.to_csv(tmp_path / "truth.csv", index=False)
        frame.drop(columns="y").to_csv(tmp_path / "qi.csv", index=False)
        release = [str(tree(tmp_path, frame, "age")), str(paper(tmp_path, table(frame, "age", "sex")))]
        call = [*release, str(tmp_path / "qi.csv")]
        if said == "review":
            call = [*release, str(tmp_path / "truth.csv"), "--target", "y", "--qi", "age,sex"]
        call = [said, *call] if said != "parts" else ["audit", *call, "--memory", "1GB"]
        assert run([*call, "--min-k", "10", "--enforce"]) == status, capsys.readouterr()
        assert ("Table 1, cell age old, sex m tells them apart" in capsys.readouterr().out) == (status == 3)


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_single_columns_tell_apart_whom_trees_of_these_tell_apart(seed: int, tmp_path: Path) -> None:
    """Several trees of one split, or as many tables with the same counts, beside each other or a tree."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({c: rng.choice(["a", "b", "c"], 60) for c in "uvw"})
    frame["y"] = rng.choice(CLASSES, 60)
    forest = maxent.audit(tree(tmp_path, frame, *"uvw"), frame.drop(columns="y"))["spans"]
    tables = [table(frame, c, source=f"Table {c}") for c in "uvw"]
    own = paper(tmp_path, *tables)
    both = [tree(tmp_path, frame, "u"), paper(tmp_path, *tables[1:], name="two.json")]
    for release in (own, both):
        spans = maxent.audit(release, frame.drop(columns="y"))["spans"]
        assert (spans["count"], spans["min_population"]) == (forest["count"], forest["min_population"])


def test_a_sum_that_weighs_people_differently_is_not_passed(tmp_path: Path) -> None:
    """Of sums nobody is told apart for sure: a mean of ages of two values each."""
    frame = people()
    mean = {"kind": "mean", "of": "years", "class": "yes", "equals": "45.0", "source": "Table 2"}
    for of, status in ((21, "cannot_tell"), (20, "pass"), (41, "fail")):
        found = judged([tree(tmp_path, frame, "age"), paper(tmp_path, mean)], frame, {"min_k": of})["min_k"]
        assert found.status == status, found.said
        assert ("Table 2 weighs people differently: 20 of them are alike" in found.said) == (status == "cannot_tell")
    limits = {key: LIMITS[key] for key in ("min_cell", "max_zeros", "max_pure", "max_background")}
    alone = judged(paper(tmp_path, mean), frame, limits)
    assert {found.status for found in alone.values()} == {"cannot_tell"}
    few = {**mean, "where": {"sex": "m", "age": "old"}, "equals": "60.0"}
    frame = people(1)
    found = judged([tree(tmp_path, frame, "age"), paper(tmp_path, few)], frame, {"min_k": 10, "min_leaf": 10})
    assert {each.status for each in found.values()} == {"fail"}
    assert all("Table 2" in each.said for each in found.values())


def test_who_is_weighed_by_cases_alone_is_told_apart(tmp_path: Path) -> None:
    """No linear row of a deviation that may be 0, without a mean, says anything."""
    frame = people()
    where = {"sex": "f", "age": "young"}
    said = {"kind": "sd", "of": "years", "class": "yes", "ddof": 0, "equals": 0, "where": where, "source": "Table 2"}
    release = [tree(tmp_path, frame, "age"), paper(tmp_path, said)]
    found = judged(release, frame, {"min_k": 11})["min_k"]
    assert found.status == "cannot_tell", found.said
    assert "Table 2 weighs people differently: 10 of them are alike" in found.said


def test_a_suppressed_cell_says_nothing_unless_it_follows(tmp_path: Path) -> None:
    """A hidden cell of one of two old men: nobody is told apart by it alone; a margin gives it back."""
    frame = people(2)
    cells = [{"at": ["old", "m"], "class": "yes", "count": None}, {"at": ["young", "m"], "class": "yes", "count": 10}]
    hidden = {"kind": "table", "source": "Table 1", "by": ["age", "sex"], "cells": cells, "suppressed_below": 5}
    limits = {"max_recovered": 0, "min_k": 10}
    found = judged(paper(tmp_path, hidden), frame, limits)
    assert [found[key].status for key in limits] == ["pass", "pass"]
    margin = {"at": ["*", "m"], "class": "yes", "count": 11}
    found = judged(paper(tmp_path, {**hidden, "cells": [*cells, margin]}), frame, limits)
    assert [found[key].status for key in limits] == ["fail", "fail"]
    assert "Table 1, cell age old, sex m" in found["max_recovered"].said


@pytest.mark.parametrize("how", [{"suppressed_below": 5}, {"base": 5, "rounding": "down"}])
def test_a_number_that_one_table_hides_and_another_prints_is_given_back(how: Fact, tmp_path: Path) -> None:
    frame = people(2)
    shown = {"kind": "table", "source": "Table 2", **table(frame, "age", "sex")}
    cells = [{"at": ["old", "m"], "class": "yes", "count": 0 if "base" in how else None}]
    hiding = {"kind": "table", "source": "Table 1", "by": ["age", "sex"], "cells": cells, **how}
    for said, status in (((hiding,), "pass"), ((hiding, shown), "fail"), ((shown, hiding), "fail")):
        found = judged(paper(tmp_path, *said), frame, {"max_recovered": 0})["max_recovered"]
        assert (found.status, "Table 1" in found.said) == (status, status == "fail")


def test_a_rounded_number_that_the_table_settles_is_given_back(tmp_path: Path) -> None:
    """A five by random rounding is nobody but the one man there is."""
    frame = people(1)
    cells = [{"at": ["old", "m"], "class": "yes", "count": 5}]
    said = {"kind": "table", "source": "Table 1", "by": ["age", "sex"], "cells": cells, "base": 5}
    assert judged(paper(tmp_path, said), frame, {"max_recovered": 0})["max_recovered"].status == "fail"


@pytest.mark.parametrize(("at", "status"), [(["*", "*"], "pass"), (["old", "m"], "fail")])
def test_a_number_that_the_base_rate_alone_tells_is_not_given_back(at: list[str], status: str, tmp_path: Path) -> None:
    """All but the two old men are counted: with the base rate that tells their number, too."""
    frame = people(2)
    shown = table(frame, "age", "sex")
    cells = [each for each in shown["cells"] if each["at"] != ["old", "m"] and "*" not in each["at"]]
    hidden = {"at": at, "class": "yes", "count": None}
    said = {"kind": "table", "by": ["age", "sex"], "cells": [*cells, hidden], "suppressed_below": 99}
    limits = {"limits": {"max_recovered": 0}}
    rows = maxent.check(paper(tmp_path, said), frame.drop(columns="y"), limits, truth=frame).rows
    [found] = [row.finding for row in rows if row.check.key == "max_recovered"]
    assert found.status == status, found.said


def test_risks_of_wp216_divide_members_by_statements(tmp_path: Path) -> None:
    frame = people(1)
    tables = {"truth": frame, "control": frame}
    release = [tree(tmp_path, frame, "age"), paper(tmp_path, table(frame, "age", "sex"))]
    limits = {"max_singling_out": 0.1, "max_linkability": 0.1, "max_inference": 0.9}
    checked = maxent.check(release, frame.drop(columns="y"), {"limits": limits}, **tables)
    found = {row.check.key: row.status for row in checked.rows if row.check.key in limits}
    assert found == {"max_singling_out": "cannot_tell", "max_linkability": "cannot_tell", "max_inference": "pass"}
    risks = checked.summary["wp216"]
    assert (risks["singling_out"]["members"], risks["linkability"]["members"]) == (1 / 80, 4 / 80)


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        {"kind": "table", "by": ["age", "sex"], "cells": [{"at": ["old", "m"], "count": 1}]},
        {
            "kind": "rule",
            "if": [{"column": c, "in": [v]} for c, v in (("age", "old"), ("sex", "m"))],
            "n": 1,
            "label": "yes",
        },
    ],
)
def test_people_who_are_counted_without_a_class_are_a_group(said: Fact, beside: bool, tmp_path: Path) -> None:
    """As those of a leaf that states its records alone."""
    frame = people(1)
    release = [*[tree(tmp_path, frame, "age")] * beside, paper(tmp_path, {**said, "source": "Table 3"})]
    for limit in ("min_leaf", "nk_dominance", "p_ratio", "min_k"):
        found = judged(release, frame, {limit: LIMITS[limit]})[limit]
        assert (found.status, "Table 3" in found.said) == ("fail", True), found.said


def test_a_class_that_is_not_counted_beside_others_may_have_nobody(tmp_path: Path) -> None:
    frame = people().assign(y=["yes", "no", "other", "no"] * 20)
    target = {"name": "y", "classes": ["no", "yes", "other"]}
    limits = {"max_zeros": 0, "max_stated_zeros": 0}
    for no, status in ((20, "fail"), (19, "pass")):
        cells = [{"at": ["m"], "class": klass, "count": n} for klass, n in (("yes", 20), ("no", no))]
        said = {"format": "maxent-statements/1", "statements": [{"kind": "table", "by": ["sex"], "cells": cells}]}
        (tmp_path / "three.json").write_text(json.dumps({**said, "target": target}), encoding="utf-8")
        found = judged(tmp_path / "three.json", frame, limits)
        assert {each.status for each in found.values()} == {status}


def test_a_sum_that_happens_to_count_is_no_cell_that_was_suppressed(tmp_path: Path) -> None:
    frame = people()
    auc = {"kind": "auc", "score": "years", "class": "yes", "equals": "0.50", "source": "Figure 1"}
    found = judged([tree(tmp_path, frame, "age"), paper(tmp_path, auc)], frame, {"max_recovered": 0})
    assert found["max_recovered"].status == "pass", found["max_recovered"].said


def test_where_classes_are_public_groups_of_statements_are_of_one_class(tmp_path: Path) -> None:
    """Two women of the young, one of each class: whoever knows the classes knows both."""
    frame = people().assign(sex=["m"] * 38 + ["f"] * 2 + ["m"] * 40)
    frame["y"] = ["yes", "no"] * 40
    grown = tree(tmp_path, frame, "age")
    said = json.loads(grown.read_text(encoding="utf-8"))
    defense = {"method": "kadet", "k": 20, "class": "public"}
    written(grown, {**said, "release": {"defense": defense}})
    beside = paper(tmp_path, table(frame, "sex"))
    other = written(tmp_path / "other.json", {**said, "release": {"defense": {**defense, "k": 10}}})
    alone = frame.drop(columns="y")
    found = [
        (grown, 20, "pass"),
        (grown, 21, "fail"),
        ([grown, beside], 2, "cannot_tell"),
        ([grown, beside], 3, "fail"),
        ([grown, other], 20, "cannot_tell"),
        ([grown, other], 21, "fail"),
    ]
    for release, k, status in found:
        audit = maxent.audit_release(release, alone)
        assert audit.verdict(min_k=k).status == status
        assert maxent.estimate(release, alone).verdict(min_k=k).status == status
        assert (audit.summary["spans"]["k_anonymous"] == 20) == (release == grown)
        if release != [grown, other]:
            assert judged(release, frame, {"min_k": k})["min_k"].status == status
