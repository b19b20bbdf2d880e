"""Generalised records: Table 1 of Yang et al. (2019), what every table guarantees, and the measures."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calls import refusal, refused
from support.strategies import Style, cases, populations, thorough
from support.yang import RANGES, figure_1, records

import maxent
from maxent import defend
from maxent.models.defenses import KADETClassifier, generalization
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.defenses.kadet import Step, kadet
from maxent.models.defenses.parameters import Kadet
from maxent.models.errors import InvalidInput
from maxent.models.formats.published_records import read_published
from maxent.models.reading import Reader, Reading
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.generalized_records import GeneralizedTable, check_covering, covering, covering_pairs, hulls
from maxent.models.tables.hierarchies import Hierarchy, hierarchy_files, read_hierarchy
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign

QI = ["Age", "Marital Status", "Gender"]
DISTANCES = st.sampled_from(("gower", "ranks"))
ONE = "Not Married"
BOTH = "Married|Not Married"


def training_of(people):
    """The people as the records that a tree is grown from."""
    return Training(
        Target("Y", people.classes),
        people.attributes,
        tuple(people.columns[a.name] for a in people.attributes),
        people.y,
    )


def published(case, k, method, distance="gower"):
    """The first tree of a case pruned, and its people generalised."""
    ranges = {a.name: (-3.0, 10.0) for a in case.release.attributes if a.values is None}
    training = training_of(case.people)
    groups = assign(prune_erp(case.release, k, ranges=ranges).trees[0], training.attributes, training.columns)
    if method == "uniform":
        return training, groups, uniform(training, groups, k)
    return training, groups, tiered(training, case.release, k, distance=distance)


def counted_cases():
    return cases(populations(rows=(5, 40)), style=st.just(Style(leaf="counts")))


def held(text, value):
    """Whether a published value, as it is written, holds one of the original."""
    if isinstance(value, str):
        return value in text.split("|")
    number = r"(-?[0-9.]+(?:e[+-][0-9]+)?)"
    low, high = re.fullmatch(f"{number}(?:-{number})?", text).groups()
    return float(low) <= value <= float(high or low)


# --- Table 1 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["gower", "ranks"])
def test_table_1(distance):
    training = read_training(records(), target="Bought", qi=QI)
    rows = tiered(training, figure_1(), 3, distance=distance).frame(in_order=True).head(5)
    assert rows["Age"].tolist() == ["42-61", "42-61", "29-61", "29-42", "29-42"]
    assert rows["Marital Status"].tolist() == [BOTH, BOTH, BOTH, ONE, ONE]
    assert rows["Gender"].tolist() == ["Female"] * 5
    assert rows["Bought"].tolist() == ["Yes", "Yes", "No", "No", "No"]


def test_table_1_with_ages_as_categories():
    training = read_training(records(), target="Bought", qi=QI, categorical=["Age"])
    categories = Attribute("Age", values=training.attributes[0].values)
    nodes = tuple(
        replace(
            node,
            branches=tuple(
                replace(
                    b,
                    le=None,
                    gt=None,
                    values=tuple(v for v in categories.values if (float(v) <= 65) == (b.le is not None)),
                )
                for b in node.branches
            ),
        )
        if node.attribute == "Age"
        else node
        for node in figure_1().trees[0].nodes
    )
    release = Release(figure_1().target, (categories, *figure_1().attributes[1:]), (Tree(nodes),))
    rows = tiered(training, release, 3).frame(in_order=True)["Age"].head(5)
    assert rows.tolist() == ["42|57|61"] * 2 + ["29|38|42|57|61"] + ["29|38|42"] * 2


def test_table_1_generalised_uniformly():
    training = read_training(records(), target="Bought", qi=QI)
    pruned = prune_erp(figure_1(), 3, ranges=RANGES)
    table = uniform(training, assign(pruned.trees[0], training.attributes, training.columns), 3)
    rows = table.frame(in_order=True).head(5)
    assert rows["Age"].tolist() == ["29-61"] * 5
    assert rows["Marital Status"].tolist() == [BOTH] * 5


def test_the_rows_of_table_1_are_no_classes_of_k():
    """What the paper calls k-anonymity: there is a row unlike all others, but each covers three records."""
    training = read_training(records().head(5), target="Bought", qi=QI, domains={"Gender": ["Female", "Male"]})
    table = tiered(training, figure_1(), 3)
    assert sorted(table.frame().groupby(["Age", "Marital Status"]).size()) == [1, 2, 2]
    rows, covered = covering(table, training, np.arange(5), np.zeros(5, np.int64))
    assert rows.tolist() == [3, 3, 5, 3, 3]
    assert covered.tolist() == [3, 3, 5, 3, 3]


# --- What every table guarantees --------------------------------------------------------------------------------


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), distance=DISTANCES)
def test_tiered_records_are_k_k_anonymous(case, k, distance):
    """Counted on the published text."""
    assume(len(case.people) >= k)
    table = published(case, k, "tiered", distance)[2]
    names = [a.name for a in case.people.attributes]
    rows = table.frame(in_order=True)[names].to_numpy()
    originals = case.people.frame[names].to_numpy()
    holds = np.array([[all(map(held, row, record)) for row in rows] for record in originals])
    assert holds.sum(axis=1).min() >= k
    assert holds.sum(axis=0).min() >= k
    assert holds.diagonal().all()


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15))
def test_uniform_records_are_k_anonymous(case, k):
    assume(len(case.people) >= k)
    _, groups, table = published(case, k, "uniform")
    rows = list(map(tuple, table.frame(in_order=True).drop(columns="Y").to_numpy()))
    assert min(Counter(rows).values()) >= k
    assert all(row == rows[groups.tolist().index(group)] for row, group in zip(rows, groups, strict=True))


@pytest.mark.slow
@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), distance=DISTANCES)
def test_tiers_lose_no_more_than_uniform_groups(case, k, distance):
    assume(len(case.people) >= k)
    fine, coarse = (published(case, k, method, distance)[2] for method in ("tiered", "uniform"))
    assert (fine.ncp()[fine.box] <= coarse.ncp()[coarse.box] + 1e-12).all()
    assert 0 <= fine.gcp() <= coarse.gcp() + 1e-12 <= 1 + 1e-12


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), method=st.sampled_from(("tiered", "uniform")))
def test_classes_are_those_of_the_records(case, k, method):
    assume(len(case.people) >= k)
    table = published(case, k, method)[2]
    assert table.frame(in_order=True)["Y"].tolist() == case.people.frame["Y"].tolist()
    assert sorted(map(tuple, table.frame().to_numpy())) == sorted(map(tuple, table.frame(in_order=True).to_numpy()))


@pytest.mark.slow
@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), seed=st.integers(0, 9))
def test_the_order_of_the_records_does_not_show(case, k, seed):
    """Two tables of the same people in another order are the same file, for which no two distances must be equal."""
    assume(len(case.people) >= k)
    people = case.people
    mixed = np.random.default_rng(seed).permutation(len(people))
    moved = replace(people, columns={n: c[mixed] for n, c in people.columns.items()}, y=people.y[mixed])
    tables = [published(replace(case, people=crowd), k, "uniform")[2].frame() for crowd in (people, moved)]
    assert tables[0].equals(tables[1])


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), method=st.sampled_from(("tiered", "uniform")))
def test_pruned_groups_hold_what_covers_their_records(case, k, method):
    """So it makes no difference to tiers how the tree was pruned; over all records there may be more."""
    assume(len(case.people) >= k)
    training, groups, table = published(case, k, method)
    everyone = np.arange(len(training))
    within, overall = (covering(table, training, everyone, group) for group in (groups, np.zeros_like(groups)))
    for few, all_of_them in zip(within, overall, strict=True):
        assert k <= few.min()
        assert (few <= all_of_them).all()


def test_a_table_that_covers_too_little_is_refused():
    training = read_training(records(), target="Bought", qi=QI)
    everyone, together = np.arange(len(training)), np.zeros(len(training), np.int64)
    table = uniform(training, together, 3)
    alone = replace(table, boxes=tuple(b.copy() for b in table.boxes))
    alone.boxes[0][:] = [57, 57]
    refused = refusal(check_covering, alone, training, everyone, together, 3)
    assert [problem.found for problem in refused.problems] == ["0 for record 2", "1 for record 1"]


def test_every_table_is_counted(monkeypatch):
    """Were the boxes wrong, nothing would be returned."""
    training = read_training(records(), target="Bought", qi=QI)
    monkeypatch.setattr(
        generalization, "united", lambda boxes, members, starts: tuple(b[members[starts]] for b in boxes)
    )
    refused("rows that cover a record: expected at least k = 3, found 2", tiered, training, figure_1(), 3)
    first = [np.repeat(column[:1], 2)[None] for column in training.columns[:1]]
    monkeypatch.setattr(generalization, "hulls", lambda *_: (*first, *(np.ones((1, 2), bool) for _ in range(2))))
    refused("rows that cover a record: expected at least k = 3, found 0", uniform, training, np.zeros(14, np.int64), 3)


# --- Searching the neighbours -----------------------------------------------------------------------------------


def ladder():
    """Nine records of one number: the leaf of the first hangs beside a branch of two, and that beside all others."""
    nodes = (
        Node("r", "q", (Branch("u", le=3.5), Branch("f", gt=3.5))),
        Node("u", "q", (Branch("a", le=1.5), Branch("v", gt=1.5))),
        Node("v", "q", (Branch("b", le=2.5), Branch("c", gt=2.5))),
        *(Node(name, counts={"x": 1}) for name in "abc"),
        Node("f", counts={"x": 6}),
    )
    release = Release(Target("y", ("x",)), (Attribute("q", "numeric"),), (Tree(nodes),))
    frame = pd.DataFrame({"q": [1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0], "y": "x"})
    return read_training(frame, target="y", qi=["q"]), release


@pytest.mark.parametrize(
    ("k", "first", "second"),
    [
        (2, "1-2", "1-3"),  # 1 borrows 2 from the branch beside it, 2 borrows 3 and 3 borrows 2
        (3, "1-3", "1-3"),
        (4, "1-4", "1-4"),  # 1 borrows what is nearest below the root, which 4 is
    ],
)
def test_neighbours_are_searched_tier_by_tier(k, first, second):
    training, release = ladder()
    rows = tiered(training, release, k).frame(in_order=True)["q"]
    assert (rows[0], rows[1], rows[3]) == (first, second, "4-9")


def test_of_equally_close_records_the_first_is_borrowed():
    nodes = (
        Node("r", "q", (Branch("a", le=3.0, gt=1.0), Branch("b", gt=3.0), Branch("c", le=1.0))),
        *(Node(name, counts={"x": n}) for name, n in (("a", 1), ("b", 2), ("c", 2))),
    )
    release = Release(Target("y", ("x",)), (Attribute("q", "numeric"),), (Tree(nodes),))
    for numbers, expected in (([2.0, 0.0, 4.0, 0.0, 4.0], "0-2"), ([2.0, 4.0, 0.0, 4.0, 0.0], "2-4")):
        training = read_training(pd.DataFrame({"q": numbers, "y": "x"}), target="y", qi=["q"])
        assert tiered(training, release, 2).frame(in_order=True)["q"][0] == expected


def test_the_distances_may_choose_differently():
    """A number far from all others is one rank from the next; in a crowd the next rank is close by."""
    nodes = (
        Node("r", "c", (Branch("a", values=("1",)), Branch("b", values=("2",)))),
        Node("a", counts={"x": 1}),
        Node("b", counts={"x": 7}),
    )
    attributes = (Attribute("c", values=("1", "2")), Attribute("u", "numeric"), Attribute("v", "numeric"))
    release = Release(Target("y", ("x",)), attributes, (Tree(nodes),))
    rest = [(100.0, float(v)) for v in (5, 6, 7, 8, 10)]
    frame = pd.DataFrame([(0.0, 0.0), (1.0, 0.0), (0.0, 4.0), *rest], columns=["u", "v"])
    frame = frame.assign(c=["1", *"2222222"], y="x")
    training = read_training(frame, target="y", qi=["c", "u", "v"])
    borrowed = {}
    for distance in ("gower", "ranks"):
        borrowed[distance] = tiered(training, release, 2, distance=distance).frame(in_order=True).loc[0]
    assert borrowed["gower"][["u", "v"]].tolist() == ["0-1", "0"]
    assert borrowed["ranks"][["u", "v"]].tolist() == ["0", "0-4"]


# --- Refusals ---------------------------------------------------------------------------------------------------


def test_records_that_reach_no_leaf_are_named():
    training = read_training(records(), target="Bought", qi=QI)
    nodes = tuple(node for node in figure_1().trees[0].nodes if node.id != "9")
    holed = replace(nodes[5], branches=(Branch("8", le=65.0), Branch(None, gt=65.0)))
    release = replace(figure_1(), trees=(Tree((*nodes[:5], holed, *nodes[6:])),))
    refused = refusal(tiered, training, release, 3)
    assert [problem.where for problem in refused.problems] == ["record 12", "record 13", "record 14"]
    young = replace(nodes[5], branches=(Branch("8", le=65.0),))
    release = replace(figure_1(), trees=(Tree((*nodes[:5], young, *nodes[6:])),))
    with pytest.raises(InvalidInput, match="record 12: leaf: expected a leaf of the tree, found node 6"):
        tiered(training, release, 3)


def test_too_few_records_are_refused():
    training = read_training(records(), target="Bought", qi=QI)
    refused("records: expected at least k = 15, found 14", tiered, training, figure_1(), 15)
    refused("found 1 in the smallest", uniform, training, np.array([0] * 13 + [1]), 2)


def test_unknown_distances_are_refused():
    training = read_training(records(), target="Bought", qi=QI)
    refused("gower, ranks", tiered, training, figure_1(), 3, distance="manhattan")


# --- Measures and files -----------------------------------------------------------------------------------------


def small_table():
    """Two groups of three: numbers 0..4 of 0..10 and 10 alone; colours of which two of three occur, and one."""
    frame = pd.DataFrame({"n": [0, 1, 4, 10, 10, 10], "c": ["r", "g", "r", "b", "b", "b"], "y": list("uvuvuv")})
    training = read_training(frame, target="y", qi=["n", "c"], domains={"c": ["r", "g", "b", "never"]})
    return uniform(training, np.array([0, 0, 0, 1, 1, 1]), 3)


def test_penalties():
    table = small_table()
    assert table.ncp().tolist() == [[0.4, pytest.approx(2 / 3)], [0.0, 0.0]]
    assert table.gcp() == pytest.approx((0.4 + 2 / 3) / 4)


def test_the_penalties_of_table_1():
    """Age 29-42 has a width of 13 and the whole set of marital statuses is 1."""
    table = tiered(read_training(records(), target="Bought", qi=QI), figure_1(), 3)
    penalties = dict(zip(table.frame(in_order=True)["Age"], table.ncp()[table.box].tolist(), strict=True))
    assert (penalties["29-42"][0], penalties["42-61"]) == (13 / 58, [19 / 58, 1.0, 0.0])


def test_attributes_of_one_value_cost_nothing():
    frame = pd.DataFrame({"n": [3.0] * 4, "c": ["r"] * 4, "y": list("uvuv")})
    table = uniform(read_training(frame, target="y", qi=["n", "c"]), np.zeros(4, np.int64), 2)
    assert table.gcp() == 0
    assert table.frame()[["n", "c"]].drop_duplicates().to_numpy().tolist() == [["3", "r"]]


def test_rows_are_sorted_text():
    rows = small_table().frame()
    assert rows.columns.tolist() == ["n", "c", "y"]
    assert rows.to_numpy().tolist() == [*[["0-4", "r|g", y] for y in "uuv"], *[["10", "b", y] for y in "uvv"]]


def test_numbers_and_names_that_look_like_separators():
    frame = pd.DataFrame({"n": [-1.5, 1e-7, 2.25, 1e22], "c": ["a|b", "a", "b\\", "b"], "y": list("uvuv")})
    rows = uniform(read_training(frame, target="y", qi=["n", "c"]), np.array([0, 0, 1, 1]), 2).frame(in_order=True)
    assert rows["n"].tolist() == ["-1.5-1e-07"] * 2 + ["2.25-1e+22"] * 2
    assert rows["c"].tolist() == [r"a|a\|b"] * 2 + ["b|b\\\\"] * 2


EXAMPLES = Path(__file__).parents[2] / "examples" / "hierarchies"


def problems(source: Any) -> list[str]:
    caught = refusal(read_hierarchy, source)
    return [str(problem) for problem in caught.problems]


@pytest.mark.parametrize("text", ["a;one;*\nb;one;*\n\nc;two;*\n", '\ufeffa,one,*\r\n"b",one, *\r\nc,two,*\r\n'])
def test_a_file_is_read_as_arx_writes_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "h.csv"
    file.write_bytes(text.encode())
    hierarchy = read_hierarchy(file)
    assert hierarchy == Hierarchy((("a", "b", "c"), ("one", "one", "two"), ("*", "*", "*")))
    assert read_hierarchy(hierarchy) is hierarchy
    assert read_hierarchy([["a", "one", "*"], ["b", "one", "*"], ["c", "two", "*"]]) == hierarchy


def test_groups_are_numbered_from_the_first_value_and_idle_levels_left_out() -> None:
    rows = ["a;a;one;A;*", "b;b;one;A;*", "c;c;two;A;*", "d;d;three;B;*"]
    hierarchy = read_hierarchy([row.split(";") for row in rows])
    assert hierarchy.groups(["c", "a", "b", "d"]).tolist() == [[0, 1, 2, 3], [0, 1, 1, 2], [0, 0, 0, 1]]
    assert hierarchy.groups(["a", "b"]).tolist() == [[0, 1]]
    assert hierarchy.groups(["d"]).tolist() == [[0]]


def test_every_problem_of_the_rows_is_named() -> None:
    found = problems([["a", "one", "*"], ["b", "two"], ["a", "one", "*"], ["c", "", "*"], ["d", "one", "B"]])
    assert found == [
        "line 2: cells: expected 3 cells, as in the first row, found 2",
        "line 3: value: expected each value once, found that of line 1 again",
        "line 4: cell: expected a name, found nothing",
        "line 5: parent: expected one parent of the group in cell 2, found another than in line 1",
    ]
    assert problems([["a"]]) == ["line 1: cells: expected a value and at least one parent, found 1"]
    many = problems([["a", "b"]] + [["a", "b"]] * 30)
    assert len(many) == 11
    assert many[-1] == "and 20 more lines: value: expected each value once, found the like"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "file: rows"),
        (b"\n \n", "file: rows"),
        (b"a;b\n\x81\x8d;b", "line 2: encoding: expected CSV text in UTF-8, or in an encoding that can be told"),
        (b'a;"b\n', "parent"),
    ],
)
def test_unreadable_files_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "h.csv"
    file.write_bytes(content)
    if expected == "parent":  # the reader of CSV takes an open quote for the end of the file
        assert read_hierarchy(file).levels[1] == ("b",)
    else:
        assert expected in problems(file)[0]
    assert "file: path: expected a readable file" in problems(tmp_path / "none.csv")[0]


def test_a_folder_whose_name_is_no_name_is_none() -> None:
    for folder in ("x" * 300, "x" * 5000, "a\0b", "none", ""):
        refused(r"folder: hierarchies: expected a folder with a file COLUMN\.csv", hierarchy_files, folder, ["job"])


def test_a_file_may_have_the_encodings_of_tables(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    for encoding, note in (("cp1252", "is read as cp1252"), ("utf-16", "UTF-16-LE"), ("utf-8", "")):
        file.write_bytes("Köln;Süden;*\nBonn;Süden;*\n".encode(encoding))
        reader = Reader()
        assert read_hierarchy(file, reader=reader).levels[:2] == (("Köln", "Bonn"), ("Süden", "Süden"))
        assert all(note in told for told in reader.noticed.notes)
        assert bool(reader.noticed.notes) == bool(note)
    file.write_bytes("žena;Praha;*\n".encode("cp1250"))
    assert read_hierarchy(file, reader=Reader(Reading(csv_encoding="cp1250"))).values == ("žena",)


def test_names_of_a_level_that_look_alike_are_refused_read_as_one_or_kept_apart(tmp_path: Path) -> None:
    rows = [["a", "one", "*"], ["a ", "two ", "*"], ["b", "two", "* "], ["B", "One", "*"]]
    assert [problem.partition(": expected")[0] for problem in problems(rows)] == [
        "line 2: cell 1",
        "line 3: cell 2",
        "line 3: cell 3",
    ]
    assert "'two ' and 'two'" in problems(rows)[1]
    reader = Reader(Reading(text="strip"))
    assert read_hierarchy(rows[2:], reader=reader).levels == (("b", "B"), ("two", "One"), ("*", "*"))
    assert reader.noticed.notes == (
        "hierarchy: 'b' and 'B' in cell 1 differ only by case, and are read as different names",
    )
    refused("each value once", read_hierarchy, rows, reader=reader)
    file = tmp_path / "h.csv"
    file.write_text("\n".join(map(";".join, rows)))
    exact = Reader(Reading(text="exact"))
    assert (
        read_hierarchy(rows, reader=exact)
        == read_hierarchy(file, reader=exact)
        == Hierarchy((*zip(*rows, strict=True),))
    )
    assert exact.noticed.notes == ()


def test_defenses_read_hierarchies_as_the_data_are(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": ["a\u00a0x"] * 9 + ["b"] * 9, "Y": ["no", "yes", "no"] * 6})
    for values in (["a x", "b"], ["a\u00a0x", "b"]):
        file = tmp_path / "A.csv"
        file.write_text("".join(f"{value};*\n" for value in values), encoding="utf-8")
        reading = Reading(text="strip")
        made = defend(frame, "kadet", target="Y", qi=["A"], k=5, hierarchies={"A": file}, reading=reading)
        (release,) = made.releases
        model = KADETClassifier(k=5, hierarchies={"A": file}, reading=reading).fit(frame[["A"]], frame["Y"])
        assert release.attributes[0].values == model.release_.attributes[0].values == ("a x", "b")
    file.write_text("a x;*\nb;*\n", encoding="utf-8")
    with pytest.raises(
        InvalidInput, match=r"text='strip' reads all spellings of it\), found one of 'a x' for 'a\\xa0x'"
    ):
        defend(frame, "kadet", target="Y", qi=["A"], k=5, hierarchies={"A": file})


def people(hierarchy: Any, k: int) -> tuple[Any, list[Step]]:
    """Six of a, six of b, one of c (like b); the classes are those of a against the others."""
    codes = np.array([0] * 6 + [1] * 6 + [2])
    attribute = Attribute("A", "categorical", ("a", "b", "c"))
    training = Training(Target("Y", ("no", "yes")), (attribute,), (codes,), (codes == 0).astype(np.int64))
    steps: list[Step] = []
    return kadet(
        training, Kadet(k=k, hierarchies={} if hierarchy is None else {"A": hierarchy}), watch=steps.append
    ), steps


def test_a_split_that_breaches_is_generalised_a_level_at_a_time() -> None:
    rows = [["a", "a", "*"], ["b", "b or c", "*"], ["c", "b or c", "*"]]
    release, steps = people(rows, 2)
    assert [b.values for b in release.trees[0].root.branches] == [("a",), ("b", "c")]
    assert [(s.level, s.outcome) for s in steps] == [(0, "breach"), (1, "split")]
    release, steps = people(None, 2)
    assert release.trees[0].root.is_leaf
    assert [(s.level, s.outcome) for s in steps] == [(0, "breach")]
    assert [(s.level, s.outcome) for s in people(rows, 7)[1]] == [(0, "breach"), (1, "breach")]
    assert len(people(rows, 1)[0].trees[0].root.branches) == 3


def test_what_was_generalised_above_is_divided_below_where_it_does_not_breach() -> None:
    """There is one d, which keeps b and c together until the other attribute leads it elsewhere."""
    a = np.repeat([0, 1, 2, 3], [10, 10, 6, 1])
    b = np.repeat([0, 1, 0, 1, 0, 1], [5, 5, 5, 5, 6, 1])
    y = np.repeat([0, 0, 1, 1, 1], [10, 5, 5, 6, 1])
    attributes = (Attribute("A", "categorical", ("a", "b", "c", "d")), Attribute("B", "categorical", ("x", "y")))
    training = Training(Target("Y", ("no", "yes")), attributes, (a, b), y)
    rows = [["a", "a", "*"], ["b", "b to d", "*"], ["c", "b to d", "*"], ["d", "b to d", "*"]]
    release = kadet(training, Kadet(k=3, hierarchies={"A": rows}))
    inner = [(n.attribute, [b.values for b in n.branches]) for n in release.trees[0].nodes if not n.is_leaf]
    assert inner == [("A", [("a",), ("b", "c", "d")]), ("B", [("x",), ("y",)]), ("A", [("b",), ("c",), ("d",)])]


def test_hierarchies_that_do_not_fit_are_refused() -> None:
    refused("every value, found none for 'c'", people, [["a", "*"], ["b", "*"]], 2)
    refused("every value, found none for 'b', 'c'", people, [["a", "*"]], 2)
    attribute = Attribute("N", "numeric")
    training = Training(Target("Y", ("no", "yes")), (attribute,), (np.arange(4.0),), np.array([0, 0, 1, 1]))
    refused("categorical attribute", kadet, training, Kadet(k=1, hierarchies={"N": [["1", "*"]]}))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.csv")), ids=lambda file: file.stem)
def test_the_hierarchies_of_the_examples_lead_to_one_group(file: Path) -> None:
    assert set(read_hierarchy(file).levels[-1]) == {"*"}


NAMES = ("a|b", "a", "b\\", "|", "\\|", "4-5", "-4", "1e3", " x ", '"', "Ä,", "None")
NUMBERS = (-3.5, -1e-07, 0.0, 2.0, 1e22, 42.0)


@st.composite
def tables(draw):
    """Records with awkward values, their groups, and the table that is published of them."""
    n = draw(st.integers(1, 12))
    drawn = st.lists(st.integers(0, 99), min_size=n, max_size=n).map(np.array)
    some = tuple(draw(st.permutations(NAMES))[:4])
    columns = (draw(drawn) % 4, np.array(NUMBERS)[draw(drawn) % len(NUMBERS)])
    attributes = (Attribute("na|me", "categorical", some), Attribute("number", "numeric"))
    training = Training(Target("class", ("no|", "yes")), attributes, columns, draw(drawn) % 2)
    group = np.unique(draw(drawn) % 3, return_inverse=True)[1]
    boxes = hulls(training, np.arange(n), group, group.max() + 1)
    return training, GeneralizedTable(training.target, attributes, boxes, group, training.y)


@thorough(60)
@given(made=tables(), suffix=st.sampled_from((".csv", ".csv.gz", ".parquet")))
def test_what_was_written_is_read(tmp_path_factory, made, suffix):
    training, table = made
    codes, numbers = training.columns
    qi = pd.DataFrame({"na|me": np.array(training.attributes[0].values, object)[codes], "number": numbers})
    file = str(tmp_path_factory.getbasetemp() / f"records{suffix}")
    frame = table.frame(in_order=True)
    frame.to_parquet(file) if suffix == ".parquet" else frame.to_csv(file, index=False)
    records, people = read_published(file, qi, reader=Reader(Reading(na=())))
    found = records.table
    assert found.target.name == "class"
    assert [found.target.classes[y] for y in found.y] == frame["class"].tolist()
    assert len(records.first) == len(records) == len(frame[["na|me", "number"]].drop_duplicates())
    assert records.lines.tolist() == list(
        range(2, 2 + len(frame)) if records.unit == "line" else range(1, 1 + len(frame))
    )
    assert found.boxes[1][found.box].tolist() == table.boxes[1][table.box].tolist()
    assert found.gcp() == pytest.approx(table.gcp(), abs=1e-12)
    if found.attributes[0].values is not None:  # else all names look like numbers, and none of them shares a box
        for i, held in enumerate(found.boxes[0][found.box]):
            names = {v for v, inside in zip(found.attributes[0].values, held, strict=True) if inside}
            original = table.boxes[0][table.box[i]]
            assert names == {v for v, inside in zip(training.attributes[0].values, original, strict=True) if inside}
    owner, group = covering_pairs(found.boxes, people)
    rows = np.bincount(owner, records.counts.sum(axis=1)[group], len(people))
    everyone = np.arange(len(training))
    expected = covering(table, training, everyone, np.zeros(len(everyone), np.int64))[0]
    place = {pair: i for i, pair in enumerate(people.frame().iloc[:, :2].itertuples(index=False, name=None))}
    if found.attributes[0].values is not None:
        assert [rows[place[pair]] for pair in qi.itertuples(index=False, name=None)] == expected.tolist()


def test_a_table_in_memory_is_read_like_its_frame():
    attributes = (Attribute("A", values=("x", "y")), Attribute("P", "numeric", role="private"))
    boxes = (np.array([[True, False], [True, True]]), np.array([[1.0, 2.0], [1.0, 1.0]]))
    table = GeneralizedTable(Target("T", ("1", "0")), attributes, boxes, np.array([0, 1, 1]), np.array([0, 1, 0]))
    records, people = read_published(table, pd.DataFrame({"A": ["x", "y", "x"]}))
    assert records.table.attributes == (Attribute("A", values=("x", "y")),)
    assert records.table.target == table.target
    assert records.counts.tolist() == [[1, 0], [1, 1]]
    assert people.counts.tolist() == [2, 1]


def test_the_table_says_what_columns_are():
    qi = pd.DataFrame({"code": [0, 1], "number": [3, 4], "name": ["4-5", "x"]})
    rows = pd.DataFrame({"code": ["0|1", "1"], "number": ["3-4", "4"], "name": ["4-5", "4-5"], "T": ["a", "b"]})
    records, _ = read_published(rows, qi)
    assert [attribute.type for attribute in records.table.attributes] == ["categorical", "numeric", "categorical"]
    assert records.table.attributes[0].values == ("0", "1")
    assert records.table.boxes[1].tolist() == [[3, 4], [4, 4]]
    assert records.table.attributes[2].values == ("4-5", "x")


def test_empty_cells_are_a_value_where_the_table_has_them():
    records, people = read_published(pd.DataFrame({"A": ["", "x|"], "T": ["a", "b"]}), pd.DataFrame({"A": ["x", ""]}))
    assert records.table.attributes[0].values == ("", "x")
    assert covering_pairs(records.table.boxes, people)[0].tolist() == [0, 0, 1]


PUBLISHED_QI = pd.DataFrame({"Age": [20, 30, 40], "Job": ["a", "b", "b"], "more": [1, 2, 3]})
ROWS = pd.DataFrame({"Age": ["20-30", "20-30", "40"], "Job": ["a|b", "a|b", "b"], "T": ["0", "1", "1"]})


def published_problems(rows, qi=PUBLISHED_QI, **options):
    refused = refusal(read_published, rows, qi, **options)
    return [str(problem) for problem in refused.problems]


def test_every_bad_cell_is_named(tmp_path):
    rows = ROWS.assign(Age=["30-20", "x", "40"], Job=["a\\b", "a|b", None], T=["0", None, "1"])
    file = str(tmp_path / "records.csv")
    rows.to_csv(file, index=False)
    found = published_problems(file)
    assert [line.split(": ")[:2] for line in found] == [
        ["line 2", "Age"],
        ["line 3", "Age"],
        ["line 4", "Job"],
        ["line 2", "Job"],
        ["line 3", "T"],
    ]
    assert "'30-20'" in found[0]
    assert "a range, such as 42-61" in found[0]
    assert r"'a\\b'" in found[3]


def test_columns_that_are_missing_in_either_table_are_named():
    assert (
        "Age: expected a column of this name, found none; did you mean 'age'?"
        in published_problems(ROWS, PUBLISHED_QI.rename(columns={"Age": "age"}), target="T")[0]
    )
    assert published_problems(ROWS, target="class")[0].startswith("columns: class: expected a column of this name")
    assert published_problems(ROWS, PUBLISHED_QI.drop(columns="Job"))[0].endswith("found 'Job', 'T'")
    assert published_problems(ROWS, PUBLISHED_QI.assign(T="0"))[0].endswith("found none")
    assert published_problems(ROWS[["T"]])[0].startswith("columns: columns: expected columns of qi")


def test_columns_that_the_adversary_lacks_are_left_out_when_the_class_is_named():
    records, people = read_published(ROWS, PUBLISHED_QI.drop(columns="Job"), target="T")
    assert records.private == ("Job",)
    assert [a.name for a in people.attributes] == ["Age"]
    expected, _ = read_published(ROWS.drop(columns="Job"), PUBLISHED_QI.drop(columns="Job"))
    assert records.counts.tolist() == expected.counts.tolist()
    assert published_problems(ROWS, PUBLISHED_QI[[]].assign(Other="1"), target="T")[0].startswith("columns: attributes")


def test_what_else_is_refused():
    assert published_problems(ROWS.iloc[:0])[0].startswith("rows: records")
    assert published_problems(ROWS, PUBLISHED_QI.iloc[:0])[0].startswith("rows: individuals")
    assert "'?'" in published_problems(ROWS, PUBLISHED_QI.assign(Age=["20", "?", "40"]))[0]
    assert published_problems(ROWS, PUBLISHED_QI, count="nothing")[0].startswith("columns: nothing")


def test_records_may_be_in_a_workbook(tmp_path):
    pytest.importorskip("openpyxl")
    ROWS.to_excel(tmp_path / "records.xlsx", index=False)
    ROWS.to_csv(tmp_path / "records.csv", index=False)
    found = [maxent.audit(tmp_path / f"records{suffix}", PUBLISHED_QI, target="T") for suffix in (".xlsx", ".csv")]
    assert found[0] == found[1]
