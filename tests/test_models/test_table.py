"""The adversary's table, the truth, facts and the marginal: what is read, from whatever it is read."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.documents import release_document

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.qi_table import read_qi, read_rows
from maxent.models.tables.truth_and_facts import read_facts, read_marginal, read_truth

RELEASE = Release(
    Target("Salary", ("<=50K", ">50K")),
    (
        Attribute("Education", values=("Masters", "Doctorate")),
        Attribute("Car", values=("yes", "no"), role="private"),
        Attribute("Age", "numeric"),
    ),
    (),
)
DATA = pd.DataFrame(
    {
        "Car": ["no", "yes", "no", "no"],
        "Age": [40, 3, 40, 3],
        "Salary": [">50K", "<=50K", "<=50K", "<=50K"],
        "Education": ["Doctorate", "Masters", "Doctorate", "Doctorate"],
    }
)


def save(folder: Path, frame: pd.DataFrame, suffix: str) -> Path:
    path = folder / f"data{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def write(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def one(*values: str) -> Release:
    """A release with a single categorical attribute A."""
    return Release(Target("T", ("0", "1")), (Attribute("A", values=values),), ())


def test_distinct_rows_are_counted_in_the_order_of_their_codes():
    table = read_qi(DATA, RELEASE)
    assert [a.name for a in table.attributes] == ["Education", "Age"]
    assert table.codes.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert table.counts.tolist() == [1, 1, 2]
    assert table.lines.tolist() == [2, 4, 1]
    assert table.levels[0].tolist() == ["Masters", "Doctorate"]
    assert table.levels[1].tolist() == [3.0, 40.0]
    assert (table.source, table.unit, len(table), table.individuals) == ("qi", "row", 3, 4)
    assert table.describe(2) == "Education=Doctorate, Age=40"


def test_the_frame_has_the_public_attributes_and_the_count():
    expected = pd.DataFrame(
        {"Education": ["Masters", "Doctorate", "Doctorate"], "Age": [3.0, 3.0, 40.0], "count": [1, 1, 2]}
    )
    frame = read_qi(DATA, RELEASE).frame()
    assert frame.to_dict("list") == expected.to_dict("list")
    assert list(frame.columns) == ["Education", "Age", "count"]


@pytest.mark.parametrize(("size", "narrowest"), [(2, np.int8), (127, np.int8), (128, np.int16), (40_000, np.int32)])
def test_codes_are_the_smallest_integers_that_hold_them(size, narrowest):
    domain = [f"v{i}" for i in range(size)]
    release = Release(Target("T", ("0", "1")), (Attribute("A", values=tuple(domain)), Attribute("B", "numeric")), ())
    frame = pd.DataFrame({"A": domain, "B": np.arange(size)[::-1]})
    table = read_qi(frame, release)
    assert table.codes.dtype == narrowest
    assert table.frame()[["A", "B"]].to_dict("list") == frame.to_dict("list")
    tree = {"id": "N", "attribute": "B", "branches": [{"le": size - 2, "child": "L"}, {"gt": size - 2, "child": "M"}]}
    leaves = {"id": "L", "counts": {"0": size - 1, "1": 0}}, {"id": "M", "counts": {"0": 0, "1": 1}}
    document = release_document("T", "01", {"A": domain, "B": None}, [tree, *leaves])
    posterior = maxent.estimate(parse_release(document, "r"), frame).posterior
    assert posterior.iloc[:, -1].tolist() == [1.0, *[0.0] * (size - 1)]


def test_an_attribute_may_be_called_count():
    release = Release(Target("T", ("0", "1")), (Attribute("count", "numeric"),), ())
    assert read_qi(pd.DataFrame({"count": [5, 5, 7]}), release).frame().to_numpy().tolist() == [[5, 2], [7, 1]]


def test_without_public_attributes_everybody_is_alike():
    table = read_qi(DATA, Release(RELEASE.target, (RELEASE.attributes[1],), ()))
    assert (len(table), table.individuals, table.codes.shape) == (1, 4, (1, 0))
    assert table.frame().to_dict("list") == {"count": [4]}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".pq", ".PARQUET"])
def test_files_and_frames_give_the_same_table(tmp_path, suffix):
    path = save(tmp_path, DATA, suffix)
    first, second = read_qi(DATA, RELEASE), read_qi(str(path), RELEASE)
    assert second.source == str(path)
    assert second.codes.tolist() == first.codes.tolist()
    assert second.counts.tolist() == first.counts.tolist()
    assert (second.lines - first.lines).tolist() == [int(suffix == ".csv")] * 3
    for a, b in zip(first.levels, second.levels, strict=True):
        assert a.tolist() == b.tolist()
    assert read_truth(path, RELEASE, first).tolist() == read_truth(DATA, RELEASE, second).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffEducation,Age\nMasters,3\n",
        "Education,Age\r\nMasters,3\r\n",
        "Education,Age\rMasters,3\r",
        "Education,Age\nMasters,3",
        "\n\nEducation,Age\n\nMasters,3\n\n\n",
        'Age,"Note, of\nuse",Education\n"3.0","a ""b""\nc",Masters\n',
        "Age,x,x,,,Education\n 3e0 ,1,2,3,4,Masters\n",
    ],
)
def test_csv_as_programs_write_it(tmp_path, text):
    table = read_qi(write(tmp_path, text), RELEASE)
    assert table.frame().to_dict("list") == {"Education": ["Masters"], "Age": [3.0], "count": [1]}


def test_lines_count_blank_ones_and_those_inside_quotes(tmp_path):
    text = '\nAge,Note,Education\n1,"two\nlines",Masters\n\n2,,Masters\n3,,Masters\n'
    assert read_qi(write(tmp_path, text), RELEASE).lines.tolist() == [3, 6, 7]


def test_lines_after_leading_blank_lines(tmp_path):
    text = "\r\n\r\nAge,Education\r\n1,Masters\r\n2,Masters\r\n"
    assert read_qi(write(tmp_path, text), RELEASE).lines.tolist() == [4, 5]


cells = st.text(st.sampled_from('ab",\n\r ;é'), max_size=5)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_quoted_text_is_read_back_with_its_line(tmp_path_factory, rows, end, blank):
    lines, text = [], io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["A", "Note"])
    for row in rows:
        text.write(end * blank)
        lines.append(len(io.StringIO(text.getvalue(), newline="").readlines()) + 1)
        writer.writerow(row)
    domain = tuple(dict.fromkeys(first for first, _ in rows))
    table = read_qi(write(tmp_path_factory.mktemp("csv"), text.getvalue()), one(*domain))
    firsts = [next(i for i, row in enumerate(rows) if row[0] == value) for value in domain]
    assert table.frame()["A"].tolist() == list(domain)
    assert table.lines.tolist() == [lines[i] for i in firsts]


def test_many_blocks_of_a_large_file_are_one_table(tmp_path):
    rows = 120_000
    text = "Education,Age,Note\n" + "".join(
        f"{('Masters', 'Doctorate')[i % 2]},{i % 7},........\n" for i in range(rows)
    )
    table = read_qi(write(tmp_path, text), RELEASE)
    assert len(text) > 2 << 20
    assert len(table) == 14
    assert table.individuals == rows
    assert table.lines.tolist() == [2 + next(i for i in range(14) if i % 2 == e and i % 7 == a) for e, a in table.codes]


def test_values_are_text_and_nothing_else(tmp_path):
    values = ("010", "10", "1.0", "1", "NA", "nan", "None", "?", "null", " x", "x", "Ä", "True", "1e3")
    table = read_qi(write(tmp_path, "A\n" + "".join(f"{value}\n" for value in reversed(values))), one(*values))
    assert table.frame()["A"].tolist() == list(values)
    assert table.counts.tolist() == [1] * len(values)


def test_an_empty_cell_is_a_value_where_the_domain_says_so(tmp_path):
    assert read_qi(write(tmp_path, 'A,B\n,1\n"",2\nx,3\n'), one("x", "")).counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([1, 10, 1], ["1", "10", "1"]),
        ([True, False, True], ["True", "False", "True"]),
        ([1.0, 0.1, 1.0], ["1.0", "0.1", "1.0"]),
        (np.array([0.1, 1.5, 0.1], dtype=np.float32), ["0.1", "1.5", "0.1"]),
        (np.array([1, 1.0, True], dtype=object), ["1", "1.0", "True"]),
        (pd.Categorical([10, 1, 10], categories=[1, 7, 10]), ["10", "1", "10"]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
        (pd.array([1, 2, 1], dtype="Int64"), ["1", "2", "1"]),
        (pd.array(["a", "b", "a"], dtype="string"), ["a", "b", "a"]),
        (pd.to_datetime(["2020-01-01"] * 3), ["2020-01-01 00:00:00"] * 3),
    ],
)
def test_cells_of_a_frame_read_as_they_print(column, texts):
    domain = tuple(sorted(set(texts)))
    release, frame = one(*domain), pd.DataFrame({"A": column, "T": ["0"] * 3})
    records = read_rows(frame, "data", release, release.attributes, None, target=True)
    assert [domain[code] for code in records.codes[:, 0]] == texts


@pytest.mark.parametrize(
    "column",
    [
        [1, 2.5, 1],
        ["1", "2.50", " 1.0 "],
        np.array([1, 2.5, "1"], dtype=object),
        pd.array([1, 2.5, 1], dtype="Float64"),
        pd.Categorical([1, 2.5, 1]),
        pd.Categorical(["1", "2.5", "1"], categories=["x", "1", "2.5"]),
        np.array([1, 2.5, 1], dtype=np.float16),
    ],
)
def test_numbers_may_have_any_type(column):
    table = read_qi(pd.DataFrame({"Education": "Masters", "Age": column}), RELEASE)
    assert table.levels[1].tolist() == [1.0, 2.5]
    assert table.counts.tolist() == [2, 1]


def test_parquet_keeps_dictionaries_and_types(tmp_path):
    frame = DATA.assign(Education=pd.Categorical(DATA["Education"]), Age=DATA["Age"].astype("float32"))
    table = read_qi(save(tmp_path, frame, ".parquet"), RELEASE)
    assert table.counts.tolist() == [1, 1, 2]
    assert table.levels[1].tolist() == [3.0, 40.0]


def test_minus_zero_is_zero():
    table = read_qi(pd.DataFrame({"Education": "Masters", "Age": [0.0, -0.0]}), RELEASE)
    assert table.counts.tolist() == [2]
    assert not np.signbit(table.levels[1]).any()


def test_a_count_column_makes_a_row_stand_for_many(tmp_path):
    text = "Education,Age,n\nMasters,1,2\nDoctorate,9,0\nMasters,1,3.0\nDoctorate,1,1\n"
    table = read_qi(write(tmp_path, text), RELEASE, count="n")
    assert table.counts.tolist() == [5, 1]
    assert table.levels[1].tolist() == [1.0], "a row of nobody brings no level"
    assert table.individuals == 6


def test_columns_of_other_people_are_not_even_looked_at(tmp_path):
    text = "Education,Age,Car,Salary,count\nMasters,1,boat,lots,-7\n"
    assert read_qi(write(tmp_path, text), RELEASE).individuals == 1


def test_records_are_kept_as_they_are():
    records = read_rows(DATA, "data", RELEASE, RELEASE.attributes, None, target=True)
    assert records.codes.tolist() == [[1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]]
    assert records.classes.tolist() == [1, 0, 0, 0]
    assert records.counts.tolist() == [1, 1, 1, 1]
    assert (records.individuals, len(records), records.source) == (4, 4, "data")
    assert [a.name for a in records.attributes] == ["Education", "Car", "Age"]


def test_more_combinations_than_integers_keep_the_order():
    attributes = tuple(Attribute(f"A{j}", values=tuple(map(str, range(1000)))) for j in range(25))
    rows = np.repeat(np.random.default_rng(0).integers(0, 1000, (40, 25)), 2, axis=0)
    rows[::4, :20] = rows[0, :20]
    frame = pd.DataFrame(rows, columns=[a.name for a in attributes])
    table = read_qi(frame, Release(Target("T", ("0", "1")), attributes, ()))
    expected, counts = np.unique(rows, axis=0, return_counts=True)
    assert table.codes.tolist() == expected.tolist()
    assert table.counts.tolist() == counts.tolist()


rows_of_people = st.lists(
    st.tuples(
        st.sampled_from(["Masters", "Doctorate"]),
        st.sampled_from([0.0, 1.5, -3.0, 1e300]),
        st.integers(0, 3),
        st.sampled_from(["<=50K", ">50K"]),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(rows_of_people, st.randoms())
def test_merging_is_grouping_and_the_order_of_rows_does_not_matter(rows, random):
    frame = pd.DataFrame([*rows, ("Masters", 0.0, 1, ">50K")], columns=["Education", "Age", "n", "Salary"])
    table = read_qi(frame, RELEASE, count="n")
    people = frame[frame["n"] > 0]
    groups = people.groupby(["Education", "Age"])["n"].sum().to_dict()
    keys = list(zip(table.frame()["Education"], table.frame()["Age"], strict=True))
    assert dict(zip(keys, table.counts.tolist(), strict=True)) == groups
    assert [tuple(code) for code in table.codes.tolist()] == sorted(map(tuple, table.codes.tolist()))

    order = list(range(len(frame)))
    random.shuffle(order)
    shuffled = read_qi(frame.iloc[order], RELEASE, count="n")
    assert shuffled.codes.tolist() == table.codes.tolist()
    assert shuffled.counts.tolist() == table.counts.tolist()

    truth = read_truth(frame.iloc[order], RELEASE, table, count="n")
    assert truth.sum(axis=1).tolist() == table.counts.tolist()
    by_class = people.groupby(["Education", "Age", "Salary"])["n"].sum().to_dict()
    for key, (low, high) in zip(keys, truth.tolist(), strict=True):
        assert (low, high) == (by_class.get((*key, "<=50K"), 0), by_class.get((*key, ">50K"), 0))


def test_the_truth_has_the_rows_of_the_table():
    assert read_truth(DATA, RELEASE, read_qi(DATA, RELEASE)).tolist() == [[1, 0], [1, 0], [1, 1]]


def test_the_truth_may_have_no_count_column_where_the_table_has_one():
    table = read_qi(DATA.assign(n=1), RELEASE, count="n")
    assert read_truth(DATA, RELEASE, table, count="n").tolist() == [[1, 0], [1, 0], [1, 1]]
    doubled = read_qi(DATA.assign(n=2), RELEASE, count="n")
    assert read_truth(DATA.assign(n=2), RELEASE, doubled, count="n").tolist() == [[2, 0], [2, 0], [2, 2]]


def test_facts_match_what_they_name_and_anything_else(tmp_path):
    table = read_qi(DATA, RELEASE)
    text = "Age,Education,Salary,count\n40.0,Doctorate,>50K,1\n3,,<=50K,2\n,,<=50K,3\n,Doctorate,<=50K,1\n"
    path = write(tmp_path, text)
    facts = read_facts(path, RELEASE, table)
    assert [fact.rows.tolist() for fact in facts] == [[2], [0, 1], [0, 1, 2], [1, 2]]
    assert [fact.class_index for fact in facts] == [1, 0, 0, 0]
    assert [fact.count for fact in facts] == [1, 2, 3, 1]
    assert [(fact.source, fact.line) for fact in facts] == [(str(path), line) for line in (2, 3, 4, 5)]


def test_facts_need_neither_all_columns_nor_a_count():
    table = read_qi(DATA, RELEASE)
    (fact,) = read_facts(pd.DataFrame({"Age": [40], "Salary": [">50K"]}), RELEASE, table)
    assert (fact.rows.tolist(), fact.class_index, fact.count, fact.line, fact.source) == ([2], 1, 1, 1, "facts")
    assert read_facts(pd.DataFrame({"Age": [], "Salary": []}), RELEASE, table) == ()


def test_nulls_of_a_frame_match_anything():
    table = read_qi(DATA, RELEASE)
    frame = pd.DataFrame({"Age": [None, 3.0], "Education": ["Doctorate", None], "Salary": ["<=50K"] * 2})
    assert [fact.rows.tolist() for fact in read_facts(frame, RELEASE, table)] == [[1, 2], [0, 1]]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["Masters", "Doctorate", ""]), st.sampled_from(["3", "40", ""])), max_size=6))
def test_facts_match_as_a_search_of_every_row_does(asked):
    table = read_qi(DATA.assign(Education=["Masters", "Masters", "Doctorate", "Masters"]), RELEASE)
    people = table.frame()
    expected = [
        [
            i
            for i, (e, a, _) in enumerate(people.itertuples(index=False))
            if education in ("", e) and age in ("", str(int(a)))
        ]
        for education, age in asked
    ]
    if all(expected):
        frame = pd.DataFrame({"Education": [e for e, _ in asked], "Age": [a for _, a in asked], "Salary": ">50K"})
        assert [fact.rows.tolist() for fact in read_facts(frame, RELEASE, table)] == expected
    else:
        frame = pd.DataFrame({"Education": [e for e, _ in asked], "Age": [a for _, a in asked], "Salary": ">50K"})
        with pytest.raises(InvalidInput, match=f"row {expected.index([]) + 1}: fact: .* found none"):
            read_facts(frame, RELEASE, table)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"Salary": [">50K", "<=50K"], "count": [3, 7]}, [7, 3]),
        ({"Salary": [">50K"], "count": ["10"]}, [0, 10]),
        ({"Salary": [">50K", "<=50K"], "probability": ["0.25", "0.75"]}, [7.5, 2.5]),
        ({"Salary": [">50K"], "probability": [1]}, [0, 10]),
    ],
)
def test_the_marginal_is_in_individuals(columns, expected):
    assert read_marginal(pd.DataFrame(columns), RELEASE, 10).tolist() == expected


def test_rounded_probabilities_are_scaled_to_everybody(tmp_path):
    marginal = read_marginal(write(tmp_path, "Salary,probability\n<=50K,0.3333333\n>50K,0.6666666\n"), RELEASE, 30)
    assert marginal.sum() == pytest.approx(30, abs=1e-12)
    assert marginal.tolist() == pytest.approx([10, 20], abs=1e-5)
