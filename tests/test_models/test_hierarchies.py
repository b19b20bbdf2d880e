"""Reading generalisation hierarchies, and splitting by them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maxent import defend
from maxent.models.defenses import KADETClassifier
from maxent.models.defenses.kadet import Kadet, Step, kadet
from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader, Reading
from maxent.models.release import Attribute, Target
from maxent.models.tables.hierarchies import Hierarchy, hierarchy_files, read_hierarchy
from maxent.models.tables.training import Training

EXAMPLES = Path(__file__).parents[2] / "examples" / "hierarchies"


def problems(source: Any) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read_hierarchy(source)
    return [str(problem) for problem in caught.value.problems]


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
        with pytest.raises(InvalidInput, match=r"folder: hierarchies: expected a folder with a file COLUMN\.csv"):
            hierarchy_files(folder, ["job"])


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
    with pytest.raises(InvalidInput, match="each value once"):
        read_hierarchy(rows, reader=reader)
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
    with pytest.raises(InvalidInput, match="every value, found none for 'c'"):
        people([["a", "*"], ["b", "*"]], 2)
    with pytest.raises(InvalidInput, match="every value, found none for 'b', 'c'"):
        people([["a", "*"]], 2)
    attribute = Attribute("N", "numeric")
    training = Training(Target("Y", ("no", "yes")), (attribute,), (np.arange(4.0),), np.array([0, 0, 1, 1]))
    with pytest.raises(InvalidInput, match="categorical attribute"):
        kadet(training, Kadet(k=1, hierarchies={"N": [["1", "*"]]}))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.csv")), ids=lambda file: file.stem)
def test_the_hierarchies_of_the_examples_lead_to_one_group(file: Path) -> None:
    assert set(read_hierarchy(file).levels[-1]) == {"*"}
