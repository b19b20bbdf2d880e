"""Results in a console and in a notebook: a few lines, a small table, whatever they hold; and warnings about them."""

import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.calls import refusal
from support.paths import D1

import maxent
from maxent.api import calling
from maxent.models.display import LINES, ROWS, WIDTH, Display
from maxent.models.errors import InvalidInput
from maxent.models.formats.release_reader import Converted
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.results.text import terminal

EVIL = "<script>alert(1)</script>\x1b[31m"


def stump(*, name: str = "A", values: tuple[str, str] = ("x", "y"), wrong: int = 0) -> Release:
    """Two leaves; with ``wrong`` they count more people than there are in `people`."""
    nodes = (
        Node("N", name, (Branch("L", (values[0],)), Branch("R", (values[1],)))),
        Node("L", counts={"a": 2 + wrong, "b": 1}),
        Node("R", counts={"a": 1, "b": 3}),
    )
    return Release(Target("Y", ("a", "b")), (Attribute(name, values=values),), (Tree(nodes),))


def people(name: str = "A", values: tuple[str, str] = ("x", "y")) -> pd.DataFrame:
    return pd.DataFrame({name: [values[0]] * 3 + [values[1]] * 4})


def large() -> maxent.Estimate:
    """An estimate about 3,000 people of two attributes, who are all different, with 30 classes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.permutation(3000).astype(float), "z": rng.normal(size=3000)})
    table["y"] = rng.integers(0, 30, 3000).astype(str)
    return maxent.estimate(maxent.defend(table, "none", target="y", qi=["x", "z"], max_depth=4).release, table, table)


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def results() -> dict[str, object]:
    """One of every kind, about people and releases with hostile names."""
    release, table = stump(name=EVIL, values=(EVIL, "y")), people(EVIL, (EVIL, "y"))
    records = table.assign(Y=list("aabbbba"))
    return {
        "release": release,
        "estimate": maxent.estimate(release, table),
        "audit": maxent.audit_release(release, table),
        "audit of records": maxent.audit_records(records, table, target="Y"),
        "comparison": maxent.compare({EVIL: release, "b": release}, table),
        "bench": maxent.bench(release, table, backends="newton,ipopt"),
        "defended": maxent.defend(records, "prune-leaf", target="Y", qi=[EVIL], k=[2, 3]),
        "verdict": maxent.compare({EVIL: release, "b": release}, table).verdict(max_posterior=0.7),
        "predicted": maxent.predict(release, table),
        "converted": Converted(release, f"a tool {EVIL}", (f"what {EVIL} was",), exact=False),
        "bounds": maxent.bounds(release, table),
        "worlds": maxent.bounds(release, table, worlds=True).worlds,
        "stripped": maxent.Stripped((f"seeds of {EVIL}",), ("counts of the draws, which are the model",)),
    }


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return results()


KINDS = [
    *("release", "estimate", "audit", "audit of records", "comparison", "bench", "defended"),
    *("verdict", "predicted", "converted", "bounds", "worlds", "stripped"),
]


def test_every_result_of_the_library_shows_itself() -> None:
    public = {name: getattr(maxent, name) for name in maxent.__all__}
    kinds = {name: each for name, each in public.items() if isinstance(each, type) and not issubclass(each, Exception)}
    assert [name for name, each in kinds.items() if not hasattr(each, "_repr_html_")] == [
        "Reading"
    ]  # how files are read


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_a_few_lines_in_a_console(kind: str, found: dict[str, object]) -> None:
    lines = repr(found[kind]).split("\n")
    assert 2 <= len(lines) <= LINES
    assert all(0 < len(line) <= WIDTH and line.isprintable() for line in lines)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.regression(number=17)
def test_a_result_is_a_small_escaped_table_in_a_notebook(kind: str, found: dict[str, object]) -> None:
    html = found[kind]._repr_html_()  # type: ignore[attr-defined]
    tags = Tags(html).tags
    assert tags.count("table") == tags.count("caption") == 1
    assert set(tags) <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "svg", "rect", "text"}
    assert 2 <= tags.count("tr") <= ROWS + 2
    assert "\x1b" not in html
    if kind in ("release", "estimate", "comparison"):
        assert "&lt;script&gt;" in html


def test_a_verdict_without_limits_says_so() -> None:
    assert repr(maxent.estimate(stump(), people()).verdict()) == "verdict: no limits were stated"


@pytest.mark.regression(number=17)
def test_a_large_estimate_is_shown_in_ten_lines_and_twelve_rows() -> None:
    result = large()
    text = repr(result)
    assert text.count("\n") < LINES
    assert len(text) <= LINES * (WIDTH + 1)
    assert text.startswith("Estimate of P(y | x, z): optimal\n  3,000 individuals, 3,000 distinct quasi-identifiers;")
    tags = Tags(result._repr_html_()).tags
    assert tags.count("tr") == 1 + ROWS
    assert tags.count("th") == 13, "twelve columns, and one that says that there are more"
    assert "2988 more rows" in result._repr_html_()
    assert len(repr(result.program.release)) < 500


def test_what_is_left_out_is_said() -> None:
    shown = Display("title", [str(i) for i in range(30)], ("a",), [[str(i)] for i in range(30)], ["x" * 2000])
    assert shown.text().split("\n")[-1] == "  ... and 22 more lines"
    assert "... and 18 more rows" in shown.html()
    assert "x" * 700 not in shown.html()


def test_a_sweep_says_how_far_it_got(tmp_path: Path) -> None:
    pd.DataFrame({"A": list("xxxyyyxyxy"), "Y": list("aabbbbaaab")}).to_csv(tmp_path / "data.csv", index=False)
    study = tmp_path / "study.toml"
    study.write_text(
        "[study]\nname = 'small'\n[data.people]\nfile = 'data.csv'\ntarget = 'Y'\nqi = ['A']\n"
        "[protocol]\nseeds = [0]\n[[grid]]\nmethod = ['none']\n"
    )
    result = maxent.sweep(study, tmp_path / "out")
    assert repr(result).split("\n")[:2] == ["Sweep small: 1 of 1 point done", "  optimal: 1"]
    assert Tags(result._repr_html_()).tags.count("tr") == 2


# --- What is not to be relied on -------------------------------------------------------------------------------


def warned(call: object) -> list[str]:
    """The warnings of a call, all of them in the name of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()  # type: ignore[operator]
    assert all(w.category is maxent.UnreliableResult and w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


WRONG = stump(wrong=2)
DOUBTFUL = {
    "estimate": (lambda: maxent.estimate(WRONG, people()), "the statements contradict each other or the table"),
    "audit": (lambda: maxent.audit(WRONG, people()), "not about the same people"),
    "audit_release": (lambda: maxent.audit_release(WRONG, people()), "not about the same people"),
    "audit_records": (
        lambda: maxent.audit_records(people().assign(Y="a"), pd.DataFrame({"A": list("xxxxxxx")}), target="Y"),
        "not about the same people",
    ),
    "compare": (lambda: maxent.compare({"one": stump(), "two": WRONG}, people()), "estimates of two (status inconsist"),
    "bench": (lambda: maxent.bench(WRONG, people(), backends="newton"), "no back end has an answer to rely on"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
@pytest.mark.regression(number=17)
def test_python_warns_once_of_a_result_that_is_not_to_be_relied_on(name: str) -> None:
    call, why = DOUBTFUL[name]
    messages = warned(call)
    assert len(messages) == 1
    assert messages[0].startswith("not to be relied on: ")
    assert why in messages[0]


def test_nothing_is_warned_of_where_there_is_no_doubt() -> None:
    assert warned(lambda: maxent.estimate(stump(), people())) == []
    assert warned(lambda: maxent.audit(stump(), people())) == []
    assert warned(lambda: maxent.compare([stump()], people())) == []
    assert issubclass(maxent.UnreliableResult, UserWarning)


def test_an_estimate_ended_by_its_time_limit_is_warned_of() -> None:
    messages = warned(lambda: maxent.estimate(D1 / "tree.json", D1 / "qi.csv", presolve=False, time_limit=1e-9))
    assert [m for m in messages if "time_limit" in m] == messages
    assert messages


@pytest.mark.parametrize("command", ["estimate", "audit", "compare"])
def test_the_command_says_it_once_in_its_own_words(command: str, tmp_path: Path) -> None:
    WRONG.save(tmp_path / "tree.json")
    people().to_csv(tmp_path / "qi.csv", index=False)
    table = ["--qi", "qi.csv"] if command == "compare" else ["qi.csv"]
    run = subprocess.run(
        [sys.executable, "-W", "always", "-m", "maxent", command, "tree.json", *table],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.count("not to be relied on") == 1
    assert "UnreliableResult" not in run.stderr


# --- A model in place of a release -----------------------------------------------------------------------------

X = pd.DataFrame({"A": [0.0, 1.0, 2.0, 3.0]})
TREE = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
FOREST = RandomForestClassifier(2).fit(X, [0, 0, 1, 1])
CALLS = {
    "compare it alone": lambda model: maxent.compare(model, X),
    "load_release": maxent.load_release,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.regression(number=17)
def test_a_model_in_place_of_a_release_is_told_what_to_do(name: str) -> None:
    refused = refusal(CALLS[name], TREE)
    assert "release = maxent.from_sklearn(model, target='...', X=X), then the same call with release" in str(refused)
    refused = refusal(CALLS[name], FOREST)
    assert "release = maxent.from_sklearn(model, target='...', X=X), then the same call with release" in str(refused)
    refused = refusal(CALLS[name], make_pipeline(StandardScaler(), TREE))
    assert "maxent.review takes the whole pipeline, and maxent.convert(model, train=X) makes" in str(refused)


def test_what_it_is_told_works() -> None:
    assert maxent.estimate(maxent.from_sklearn(TREE, target="Y", X=X), X).reliable
    unnamed = DecisionTreeClassifier().fit(X.to_numpy(), [0, 0, 1, 1])
    with pytest.raises(InvalidInput, match=r"target='\.\.\.', features=\[\.\.\.\], X=X"):
        maxent.load_release(unnamed)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [3, None, DecisionTreeClassifier])
def test_what_is_no_release_at_all_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="expected a Release, or the path of a maxent/1 document"):
        maxent.estimate(given, X)  # type: ignore[arg-type]


def test_replace_still_works_on_what_is_shown() -> None:
    assert replace(stump(), suppressed_below=3).suppressed_below == 3
    assert stump() == stump()


CELLS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12).filter(terminal._is_plain)


@given(st.data(), st.integers(1, 5), st.integers(0, 4))
def test_plain_tables_are_those_of_rich(data, n_columns, n_rows):
    cells = [[data.draw(CELLS) for _ in range(n_columns)] for _ in range(n_rows + 1)]
    right = [data.draw(st.booleans()) for _ in range(n_columns)]
    printed = {}
    for plain in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            lines: list[str] = []
            patch.setattr(terminal, "print_lines", lines.extend)
            if not plain:
                patch.setattr(terminal, "_is_plain", lambda cell: False)
            terminal.print_table(cells[0], cells[1:], right)
        printed[plain] = lines
    assert printed[True] == printed[False]


def test_wide_characters_take_their_room(capsys):
    terminal.print_table(["name", "n"], [["日本", "1"], ["ab", "22"]], [False, True])
    assert capsys.readouterr().out == "name   n\n日本   1\nab    22\n"


def test_rich_is_not_loaded_for_a_plain_table():
    code = "import sys; from maxent.results.text.terminal import print_table; print_table(['a'], [['1']], [True])"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}; print('rich' in sys.modules)"], capture_output=True, text=True
    )
    assert ran.stdout == "a\n1\nFalse\n"


def test_a_notebook_shows_the_verdict_then_a_table_then_a_picture():
    release, qi = D1 / "tree.json", pd.read_csv(D1 / "qi.csv")
    checked = maxent.check(release, qi, truth=D1 / "truth.csv", max_certain=0)
    html = checked._repr_html_()
    places = [html.index(part) for part in ("<div>verdict: ", "<table>", '<svg role="img"')]
    assert places == sorted(places)
    assert "people by the probability of their likeliest class: " in html
    estimate = checked.review.estimate
    drawn = estimate._display().picture
    assert sum(value for _, value in drawn.bars) == len(qi)
    certain = int((estimate.posterior.filter(like="P(").max(axis=1) >= 1 - 1e-9).sum())
    assert drawn.bars[-1][0] == "0.9 to 1.0"
    assert drawn.bars[-1][1] >= certain > 0
    compared = maxent.compare({"a": release, "b": release}, qi)._repr_html_()
    assert compared.index("<table>") < compared.index("<svg")


def test_long_calls_in_a_notebook_show_a_bar_and_short_ones_none(monkeypatch, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not there")

    release, qi = D1 / "tree.json", D1 / "qi.csv"
    maxent.estimate(release, qi)
    assert capsys.readouterr().err == ""  # no notebook
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(calling, "AFTER", 0.0)
    assert calling.in_notebook()
    plain = maxent.estimate(release, qi)
    assert " of " in capsys.readouterr().err
    told = []
    asked = maxent.estimate(release, qi, progress=lambda *said: told.append(said))
    assert told
    assert capsys.readouterr().err == ""  # whoever is told already sees no bar
    assert asked.summary["entropy"] == plain.summary["entropy"]
    monkeypatch.setattr(calling, "AFTER", 3600.0)
    maxent.estimate(release, qi)
    assert capsys.readouterr().err == ""
