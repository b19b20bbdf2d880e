"""How cells and names are read: spellings, missing values and numbers mean the same in every source."""

import difflib
import json
import pickle
import random
import string
import traceback
from math import inf, isfinite, nextafter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.calls import refusal, refused
from support.strategies import thorough

import maxent
from maxent.models import hints, reading
from maxent.models.defenses.estimators import KADETClassifier, ParentPrunedTree
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, MissingExtra, Problem, UnknownBackend, invalid
from maxent.models.formats.maxent_json.write import release_to_document, save_release
from maxent.models.formats.published_records import read_published
from maxent.models.formats.registry import load_release
from maxent.models.reading import NA, NOTHING, Reader, Reading, cleaned, folded
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables import cells as bad_cells
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import read_training
from maxent.models.trees.places import less_than, single_at_most, single_less_than
from maxent.models.trees.predict import predict, read_cases

STRIP, EXACT = Reading(text="strip"), Reading(text="exact")
RELEASE = Release(Target("y", ("low", "high")), (Attribute("job", values=("clerk", "café")),), ())

SPELLINGS = {
    "trailing": "low ",
    "leading": " low",
    "tab": "low\t",
    "non-breaking": "low\u00a0",
    "zero width": "lo\u200bw",
    "byte order mark": "\ufefflow",
    "soft hyphen": "lo\u00adw",
    "full width": "\uff4c\uff4f\uff57",
    "direction mark": "low\u200e",
}


def saved(frame, folder: Path, form: str):
    """The same table as a DataFrame, as files, or as files that are merged out of core."""
    if form == "pandas":
        return frame
    path = folder / f"table.{'parquet' if 'parquet' in form else 'csv'}"
    frame.to_parquet(path) if "parquet" in form else frame.to_csv(path, index=False)
    return str(path.with_name(f"{path.name[:-1]}[{path.name[-1]}]")) if form.startswith("merged") else path


# --- Spellings -------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text())
def test_a_cleaned_text_is_clean(text):
    assert cleaned(cleaned(text)) == cleaned(text)
    assert folded(folded(text)) == folded(text)
    assert cleaned(f"\u00a0{text}\u200b ") == cleaned(text)


def test_blanks_inside_are_one_and_words_stay_apart():
    assert cleaned("New  York") == cleaned("New\u2009\u3000York") == "New York"
    assert cleaned("New York") != cleaned("NewYork")
    assert cleaned("caf\u00e9") == cleaned("cafe\u0301")
    assert cleaned("10 \u00b5g") == cleaned("10 \u03bcg")
    assert folded("High ") == folded("high")
    assert cleaned("High") != cleaned("high")


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas"])
@pytest.mark.parametrize("other", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.regression(number=1)
def test_classes_that_differ_only_by_blanks_or_unicode_are_refused_unless_it_is_said_what_they_are(
    tmp_path, other, form
):
    classes = ["low", "high", other, "high", "low", other]
    source = saved(pd.DataFrame({"job": list("abcabc"), "y": classes}), tmp_path, form)
    [problem] = refusal(read_training, source, target="y", qi=["job"]).problems
    unit = "lines" if form == "csv" else "rows"
    assert problem.found == f"'low' (2 {unit}) and {other!a} (2 {unit})"
    assert "text='strip'" in problem.expected
    assert "text='exact'" in problem.expected
    reader = Reader(STRIP)
    assert read_training(source, target="y", qi=["job"], reader=reader).target.classes == ("high", "low")
    assert any(f"'low' and {other!a} are read as one value" in note for note in reader.noticed.notes)
    exact = read_training(source, target="y", qi=["job"], reader=Reader(EXACT))
    assert exact.target.classes == tuple(sorted({"low", "high", other}))


@pytest.mark.regression(number=1)
def test_a_blank_does_not_turn_fail_into_pass(tmp_path):
    """The same records, with a blank behind every second class of a kind."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.integers(0, 6, 300).astype(str), "b": rng.choice(list("xy"), 300)})
    data["y"] = np.where(data["a"] < "3", "medium", rng.choice(["low", "high"], 300))
    blank = data.assign(y=data["y"].where((data["y"] != "medium") | (data.index % 2 == 0), "medium "))
    call = {"target": "y", "qi": ["a", "b"], "k": 5}
    refused("differ by more than blanks", maxent.defend, blank, "prune-parent", **call)
    plain, stripped = (
        maxent.defend(d, "prune-parent", **call, reading=reading).release
        for d, reading in ((data, None), (blank, STRIP))
    )
    assert stripped == plain
    sure = [maxent.estimate(plain, d, d, reading=STRIP).summary["disclosure"]["certain"] for d in (data, blank)]
    assert sure[0] == sure[1] > 0
    refused(r"'medium ' \(spaces count: 'medium' would do", maxent.estimate, plain, blank, blank)


@pytest.mark.regression(number=1)
def test_spellings_that_differ_by_case_are_noted():
    reader = Reader()
    data = pd.DataFrame({"job": ["Clerk", "clerk", "clerk", "cook"], "y": ["a", "b", "a", "b"]})
    training = read_training(data, target="y", qi=["job"], reader=reader)
    assert training.attributes[0].values == ("Clerk", "clerk", "cook")
    assert reader.noticed.notes == (
        "data: column 'job': 'Clerk' (1 row) and 'clerk' (2 rows) differ only by case, and are read as different "
        "values",
    )


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "merged csv", "merged parquet"])
def test_cells_meet_declared_values_when_text_is_stripped(tmp_path, form):
    source = saved(pd.DataFrame({"job": ["clerk ", "clerk", "cafe\u0301", " caf\u00e9"]}), tmp_path, form)
    for asked in (None, EXACT):
        error = refusal(read_qi, source, RELEASE, reader=Reader(asked or Reading()))
        assert "text='strip'" in error.problems[0].expected
    table = read_qi(source, RELEASE, reader=Reader(STRIP))
    assert table.frame().to_dict("list") == {"job": ["clerk", "café"], "count": [2, 2]}


def test_records_to_predict_are_not_unknown_because_of_a_blank():
    data = pd.DataFrame({"job": ["clerk", "café"], "y": ["low", "high "]})
    refused(r"'high ' \(1 row\) for 'high'", read_cases, data, "test", RELEASE.target, RELEASE.attributes)
    assert read_cases(data, "test", RELEASE.target, RELEASE.attributes, reader=Reader(STRIP)).y.tolist() == [0, 1]
    assert read_cases(data, "test", RELEASE.target, RELEASE.attributes, reader=Reader(EXACT)).y.tolist() == [0, -1]
    reader = Reader()
    read_cases(data.assign(y=["low", "High"]), "test", RELEASE.target, RELEASE.attributes, reader=reader)
    assert reader.noticed.notes == (
        "test: column 'y': 'High' (1 row) for 'high' is an unknown value: they differ by case",
    )


def tree(values, classes):
    nodes = (
        Node("N", "job", (Branch("L1", values[:1]), Branch("L2", values[1:]))),
        Node("L1", counts=dict.fromkeys(classes, 1)),
        Node("L2", counts=dict.fromkeys(classes, 2)),
    )
    return Release(Target("y", classes), (Attribute("job", values=values),), (Tree(nodes),))


@pytest.mark.parametrize(
    ("release", "where"),
    [
        (tree(("a", "a "), ("low", "high")), "attribute job: values"),
        (tree(("a", "b"), ("low", "low\u00a0")), "target: classes"),
    ],
)
@pytest.mark.regression(number=1)
def test_releases_with_two_spellings_of_a_name_are_refused(tmp_path, release, where):
    path = tmp_path / "tree.json"
    save_release(release, path)
    people = pd.DataFrame({"job": np.repeat(np.array(release.attributes[0].values, object), [2, 4])})
    for opened in (lambda: load_release(path), lambda: maxent.estimate(release, people), lambda: maxent.audit(release)):
        refused(where, opened)
    refused("still different when text is stripped", load_release, path, STRIP)
    assert load_release(path, EXACT) == release
    assert maxent.estimate(release, people, reading=EXACT).reliable


def test_the_names_of_a_release_are_stripped_everywhere(tmp_path):
    release = tree(("a ", " b"), ("low", "high "))
    document = json.loads(json.dumps(maxent_document(release)))
    document["trees"][0]["nodes"][1]["counts"] = {"low": 1, " high": 1}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    refused("counts", load_release, path)
    found = load_release(path, STRIP)
    assert found == tree(("a", "b"), ("low", "high"))
    people = pd.DataFrame({"job": ["a", "b ", "a", "b", "b", " b"]})
    assert maxent.audit(release, people, reading=STRIP)["individuals"] == 6
    assert predict(found, people, reading=STRIP).tolist() == ["low"] * 6


def test_names_of_columns_stay_as_they_are():
    release = Release(Target("y ", ("low",)), (Attribute(" job", values=("a ", "b")),), (Tree((Node("L"),)),))
    found = maxent.estimate(release, pd.DataFrame({" job": ["a", "b "]}), reading=STRIP)
    assert found.posterior[" job"].tolist() == ["a", "b"]


def maxent_document(release):
    return release_to_document(release)


def test_names_of_a_release_that_differ_by_case_are_noted():
    found = maxent.audit(tree(("a", "A"), ("low", "high")))
    assert found["notes"][0] == (
        "release: attribute job: 'a' and 'A' differ only by case, and are read as different names"
    )


def test_generalised_records_are_read_like_the_table():
    records = pd.DataFrame({"job": ["a |b", "c"], "y": ["1", "2"]})
    people = pd.DataFrame({"job": ["a", "b"]})
    refused("differ by more than blanks", read_published, records, people)
    found, _ = read_published(records, people, reader=Reader(STRIP))
    assert found.table.attributes[0].values == ("a", "b", "c")


def test_estimators_read_as_asked():
    X = pd.DataFrame({"job": ["a", "a ", "b", "b"] * 5})
    y = ["low", "high", "low", "low"] * 5
    for model in (ParentPrunedTree, KADETClassifier):
        with pytest.raises(InvalidInput, match="differ by more than blanks"):
            model().fit(X, y)
        assert model(reading=STRIP).fit(X, y).release_.attributes[0].values == ("a", "b")
        exact = model(reading=EXACT).fit(X, y)
        assert exact.release_.attributes[0].values == ("a", "a ", "b")
        assert exact.predict(X).shape == (20,)
    holes = pd.DataFrame({"job": ["a", "NA", None, "b"] * 5})
    assert KADETClassifier(missing="category").fit(holes, y).release_.attributes[0].values == ("(missing)", "a", "b")
    assert KADETClassifier(missing="category", reading=Reading(na=())).fit(holes, y).predict(holes).shape == (20,)


# --- Missing values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas"])
@pytest.mark.parametrize("written", [*NA, " NA ", "\u00a0", None])
@pytest.mark.regression(number=2)
def test_what_is_written_for_a_missing_value_is_missing_in_every_source(tmp_path, written, form):
    frame = pd.DataFrame({"job": ["a", written, "b", "a"], "x": list("uvuv"), "y": list("pqpq")})
    source = saved(frame, tmp_path, form)
    refused("1 missing, the first in", read_training, source, target="y", qi=["job", "x"])
    reader = Reader()
    training = read_training(source, target="y", qi=["job", "x"], missing="category", reader=reader)
    assert training.attributes[0].values == ("(missing)", "a", "b")
    assert training.columns[0].tolist() == [1, 0, 2, 1]
    [(columns)] = reader.noticed.missing.values()
    assert columns == {"job": 1}


@pytest.mark.parametrize("form", ["csv", "pandas"])
@pytest.mark.regression(number=2)
def test_one_missing_value_among_numbers_leaves_a_column_of_numbers(tmp_path, form):
    ages = [*range(18, 75), "NA"]
    source = saved(pd.DataFrame({"age": pd.Series(ages, dtype=object), "y": ["a", "b"] * 29}), tmp_path, form)
    [problem] = refusal(read_training, source, target="y", qi=["age"], missing="category").problems
    assert problem.found.startswith("1 missing, the first in")
    assert "'NA' on 1" in problem.found


def test_a_value_that_is_declared_is_not_missing(tmp_path):
    release = Release(Target("y", ("0", "1")), (Attribute("country", values=("NA", "ZA", "(missing)")),), ())
    path = tmp_path / "qi.csv"
    path.write_text("country,z\nNA,1\nZA,1\nN/A,1\n,1\nNA,1\n", encoding="utf-8")
    reader = Reader()
    table = read_qi(path, release, reader=reader)
    assert table.frame().to_dict("list") == {"country": ["NA", "ZA", "(missing)"], "count": [2, 1, 2]}
    assert reader.noticed.missing == {str(path): {"country": 2}}
    assert reader.noticed.notes[0] == f"{path}: column 'country': 'NA' (2 lines) is a value, as it is declared"


@pytest.mark.parametrize("form", ["csv", "pandas", "merged csv"])
@pytest.mark.regression(number=2)
def test_other_spellings_of_a_missing_value(tmp_path, form):
    release = Release(Target("y", ("0", "1")), (Attribute("job", values=("a", "(missing)")),), ())
    source = saved(pd.DataFrame({"job": ["a", "?", "-9"]}), tmp_path, form)
    refused(r"found '\?'", read_qi, source, release)
    assert read_qi(source, release, reader=Reader(Reading(na=("?", "-9")))).counts.tolist() == [1, 2]


def test_values_that_others_write_for_missing_ones_are_noted():
    data = pd.DataFrame({"job": ["?", "NA", "b", "b"], "y": list("pqpq")})
    reader = Reader(Reading(na=()))
    assert read_training(data, target="y", qi=["job"], reader=reader).attributes[0].values == ("?", "NA", "b")
    assert [note.partition(" (where")[0] for note in reader.noticed.notes] == [
        f"data: column 'job': {value!r} (1 row) is read as a value" for value in ("?", "NA")
    ]


def test_a_number_that_means_missing_does_so_in_every_type(tmp_path):
    for ages in ([39, -99], [39.0, -99.0], ["39", "-99.0"]):
        with pytest.raises(InvalidInput, match="1 missing, the first in row 2"):
            read_training(
                pd.DataFrame({"age": ages, "y": ["a", "b"]}),
                target="y",
                qi=["age"],
                reader=Reader(Reading(na=("-99",))),
            )


def test_an_unsuitable_reading_is_refused():
    refused("one of refuse, strip, exact", Reading, text="trim")
    refused("a list of spellings", Reading, na="NA")
    assert Reading(na=["?"]).stated() == {"na": ("?",)}


cells = st.sampled_from(
    ["a", "b", "a ", "NA", "null", "None", "", "A", "café", "cafe\u0301", "-0.0", "0.0", "?", "01102"]
)


@settings(deadline=None, max_examples=60)
@given(
    column=st.lists(cells, min_size=1, max_size=12),
    text=st.sampled_from(["refuse", "strip", "exact"]),
    na=st.sampled_from([NA, (), ("?",)]),
)
@pytest.mark.regression(number=2)
def test_file_pandas_parquet_and_merged_files_agree(tmp_path_factory, column, text, na):
    folder = tmp_path_factory.mktemp("agree")
    frame = pd.DataFrame({"job": column, "z": "1"})
    domain = ("a", "A", "café", "?", "0.0", "(missing)")
    release = Release(Target("y", ("0", "1")), (Attribute("job", values=domain),), ())

    def outcome(form):
        reader = Reader(Reading(text=text, na=na))
        try:
            table = read_qi(saved(frame, folder, form), release, reader=reader)
        except InvalidInput as error:
            return [(p.field, p.found.replace("line", "row")) for p in error.problems]
        [missing] = reader.noticed.missing.values() or [{}]
        return table.frame().to_dict("list"), missing

    first = outcome("pandas")
    assert all(outcome(form) == first for form in ("csv", "parquet", "merged csv", "merged parquet"))


# --- Numbers as names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[0.0, -0.0, 1.5], [-0.0, 0.0, 1.5]])
@pytest.mark.regression(number=4)
def test_zero_is_one_category_whatever_its_sign_and_the_order_of_rows(tmp_path, rows):
    frame = pd.DataFrame({"dose": rows, "y": list("aba")})
    for source in (
        frame,
        frame.astype({"dose": object}),
        *(saved(frame, tmp_path, form) for form in ("csv", "parquet")),
    ):
        training = read_training(source, target="y", qi=["dose"], categorical=["dose"])
        assert training.attributes[0].values == ("0.0", "1.5")
        assert training.columns[0].tolist() == [0, 0, 1]


NOTED = {
    "leading zeros": (["01102", "90210", "10001"], "line 2 has '01102', and a number has no leading zeros"),
    "dates": (["2001-02-03", "1999-12-31", "2001-02-03"], "its values are dates, '2001-02-03' in line 2"),
    "dates with points": (["3.2.2001", "31.12.1999", "1.1.2000"], "its values are dates, '3.2.2001' in line 2"),
    "percentages": (["12%", "3.5 %", "0%"], "its values are percentages, '12%' in line 2"),
    "decimals": (["0,5", "n/k", "1,25"], "its values are numbers whose decimals follow a comma, '0,5' in line 2"),
    "thousands": (
        ["999", "1,234", "1,234,567.5"],
        "its values are numbers with commas for thousands, '1,234' in line 3",
    ),
}


@pytest.mark.parametrize(("column", "expected"), NOTED.values(), ids=NOTED)
@pytest.mark.regression(number=16)
def test_what_looks_like_numbers_stays_text_and_is_noted(tmp_path, column, expected):
    path = tmp_path / "data.csv"
    pd.DataFrame({"a": column, "y": list("pqp")}).to_csv(path, index=False)
    reader = Reader()
    training = read_training(path, target="y", qi=["a"], reader=reader)
    assert training.attributes[0].values == tuple(sorted(column, key=str)) or len(set(column)) < 3
    [note] = reader.noticed.notes
    assert f"column 'a' is read as categories: {expected} (for ranges of them, write them " in note
    reader = Reader()
    read_training(path, target="y", qi=["a"], categorical=["a"], reader=reader)
    assert reader.noticed == NOTHING


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        ("12%", "write it without the sign: 12"),
        ("1,234", "write it without commas: 1234"),
        ("12,5", "decimals follow a point"),
        ("2001-02-03", "a date: write it as a number"),
    ],
)
def test_a_number_that_is_refused_says_how_to_write_it(cell, hint):
    release = Release(Target("y", ("0", "1")), (Attribute("age", "numeric"),), ())
    refused(hint, read_qi, pd.DataFrame({"age": [cell]}), release)


def test_each_different_value_is_read_once():
    frame = pd.DataFrame({"job": np.array(["a", "b", "c "], object)[np.arange(3000) % 3], "y": "0"})
    found = read_frame(frame, "data", ["job", "y"], Reader(STRIP))
    assert [column.values.tolist() for column in found.columns.values()] == [["a", "b", "c"], ["0"]]
    assert len(found.columns["job"].codes) == 3000


def test_a_refused_value_is_cleaned_once_however_many_are_known(monkeypatch):
    """A cell may be megabytes long, and a domain has thousands of values."""
    domain = tuple(f"v{i}" for i in range(300))
    leaves = [Node("A", counts={"x": 1, "y": 0}), Node("B", counts={"x": 0, "y": 1})]
    branches = (Branch("A", values=domain[:1]), Branch("B", values=domain[1:]))
    release = Release(
        Target("T", ("x", "y")), (Attribute("c", values=domain),), (Tree((Node("N", "c", branches), *leaves)),)
    )
    long, seen = "long" * 100, []

    def counted(text):
        seen.append(text)
        return reading.cleaned(text)

    monkeypatch.setattr(bad_cells, "cleaned", counted)
    refused("c: expected one of", maxent.audit, release, pd.DataFrame({"c": ["v0", long]}))
    assert seen.count(long) == 1
    assert seen.count("v299") <= 2  # with the domain, and as an own value


COUNTRIES = ["Canada", "Cuba", "England", "Germany", "Greece", "Haiti", "Ireland", "Italy", "Jamaica", "Mexico"] * 3


@pytest.mark.parametrize(
    ("text", "known", "meant"),
    [
        ("Mastrs", ["Masters", "Doctorate"], "Masters"),
        ("DOCTORATE", ["Masters", "Doctorate"], "Doctorate"),
        ("yse", ["no", "yes"], "yes"),
        ("Grece", [f"{name}{i // 10 or ''}" for i, name in enumerate(COUNTRIES)], "Greece"),
        ("xyz", ["Masters", "Doctorate"], None),
        ("", ["a", "b"], None),
        ("a", [], None),
        ("x" * 10_000, ["x" * 9_999 + "y", "y"], "x" * 9_999 + "y"),
    ],
)
def test_what_is_probably_meant(text, known, meant):
    assert hints.closest(text, known) == meant


def test_one_typing_error_is_found_among_many_names():
    """Whatever difflib finds among all names for a name with one letter changed is found among the candidates."""
    rng = random.Random(1)
    names = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 12))) for _ in range(400)]
    for name in names[:60]:
        at = rng.randrange(len(name))
        wrong = f"{name[:at]}{rng.choice(string.ascii_lowercase)}{name[at + 1 :]}"
        (best,) = difflib.get_close_matches(wrong, names, n=1) or [None]
        assert hints.closest(wrong, names) in (best, name)


@pytest.mark.regression(number=15)
def test_unknown_values_cost_little_however_many_they_are(monkeypatch):
    """20 columns of long values that no domain has: only the first problems are compared, each with a few names."""
    compared = []

    def counting(text, names, **options):
        compared.append((len(text), len(names), max(map(len, names))))
        return difflib.get_close_matches(text, names, **options)

    monkeypatch.setattr(hints, "get_close_matches", counting)
    rng = random.Random(0)

    def word():
        return "".join(rng.choices("abcdefghij", k=100))

    names = [f"q{i}" for i in range(20)]
    domain = tuple(word() for _ in range(1000))
    release = Release(Target("t", ("a", "b")), tuple(Attribute(name, values=domain) for name in names), ())
    refused = refusal(read_qi, pd.DataFrame({name: [word() for _ in range(50)] for name in names}), release)
    assert len(refused.problems) == 20 * 11
    assert 10 <= len(compared) <= hints.HINTED
    assert all(text <= 60 and n <= 8 and longest <= 60 for text, n, longest in compared)


def test_missing_columns_cost_little_however_many_they_are(monkeypatch):
    asked = []
    monkeypatch.setattr("maxent.models.tables.frame.closest", lambda name, header: asked.append(name))
    release = Release(Target("t", ("a", "b")), tuple(Attribute(f"x{i}", "numeric") for i in range(300)), ())
    refused = refusal(read_qi, pd.DataFrame({"x0": [1], **{f"y{i}": [1] for i in range(300)}}), release)
    assert (len(refused.problems), len(asked)) == (299, hints.HINTED)


def test_names_of_fields_are_printable():
    assert str(Problem(ARGUMENT, "a\tb\x1b[2J", "one", "two")).isprintable()


HOSTILE = "a\x1b[2J\u202eb\r\nc\x07"


@pytest.mark.parametrize(
    "error",
    [
        invalid(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),
        UnknownBackend(HOSTILE, HOSTILE),
        MissingExtra(HOSTILE),
        MaxentError(HOSTILE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_escape_names_as_the_command_line_does(error):
    """The text of every exception, as a traceback shows it; `problems` have names as they are."""
    for found in (error, pickle.loads(pickle.dumps(error))):
        shown = traceback.format_exception_only(found)
        assert all(line.isprintable() for line in "".join(shown).rstrip("\n").split("\n"))
        assert "\\x1b[2J\\u202e" in str(found)
    if isinstance(error, InvalidInput):
        assert "\n" not in str(error)
        assert HOSTILE in (error.problems[0].found, error.problems[0].expected)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.integers(-40, 40).map(lambda i: i / 4),
)

TESTS = {
    less_than: lambda x, t: x < t,
    single_at_most: lambda x, t: np.float64(np.float32(x)) <= t,
    single_less_than: lambda x, t: np.float64(np.float32(x)) < t,
}


@pytest.mark.parametrize("bound", TESTS, ids=lambda bound: bound.__name__)
@thorough(100)
@given(threshold=NUMBERS, other=NUMBERS)
@example(threshold=float(np.finfo(np.float32).max), other=3.5e38)
@example(threshold=3.4028235677973366e38, other=0.0)
@example(threshold=-1e300, other=-3.4028235677973366e38)
@example(threshold=1e300, other=1e300)
@example(threshold=0.0, other=-7e-46)
@example(threshold=-0.0, other=1e-46)
@example(threshold=7e-46, other=0.0)
def test_the_bound_is_where_the_test_ends(bound, threshold, other):
    holds, most = TESTS[bound], bound(threshold)
    with np.errstate(over="ignore"):
        for x in filter(isfinite, (other, threshold, most, nextafter(most, inf), float(np.float32(threshold)))):
            assert bool(holds(x, threshold)) == (x <= most)
