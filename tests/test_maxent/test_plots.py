"""Plots of estimates and comparisons: what is drawn is what is so, it is readable, and it gets into files."""

import json
import re
import runpy
import sys
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from support.calls import printed_by, refused
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.commands import compare, estimate
from maxent.disclosure.inference import Individuals
from maxent.models.defenses.pruning import prune_leaf
from maxent.models.errors import MissingExtra
from maxent.models.induction.inducers import id3
from maxent.plotting import comparisons, figures
from maxent.results.comparison import Comparison

FILES = [str(D1 / name) for name in ("tree.json", "qi.csv")]
TRUTH = ["--truth", str(D1 / "truth.csv")]


@pytest.fixture(scope="module")
def d1():
    return maxent.estimate(*FILES, D1 / "truth.csv")


@pytest.fixture(scope="module")
def untrue():
    return maxent.estimate(*FILES)


def grown(n, values, seed=0, name="v", **settings):
    """An estimate of a tree over two attributes of some values, fit for a large number of leaves."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({a: [f"{name}{i}" for i in rng.integers(0, values, n)] for a in "AB"})
    people["X"] = rng.choice(list("xyz"), n)
    release = id3(people, target="X", qi=["A", "B"], publish="counts", **settings)
    return maxent.estimate(release, people[["A", "B"]], people, knowledge="counts")


@pytest.fixture(scope="module")
def many():
    result = grown(3000, 30, name="a value that has a very long name, of which only the start is of interest ")
    assert len(result.program.release.trees[0].leaves) >= 800
    return result


@pytest.fixture(scope="module")
def one():
    return grown(40, 3, min_samples_split=1000)


def drawn(plot):
    """The axes of a new figure, of the size that files have, once something is drawn on them."""
    axes = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
    assert plot(axes) is axes
    return axes


def unreadable(figure):
    """Texts that cover each other, or are not all on the figure."""
    for _ in range(2):  # the layout is known after the first time
        figure.draw_without_rendering()
    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        hidden |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    texts = [text for text in texts if text not in hidden]
    boxes = [text.get_window_extent() for text in texts]
    off = [t.get_text() for t, b in zip(texts, boxes, strict=True) if not _within(b, figure.bbox)]
    pairs = [
        (texts[i].get_text(), texts[j].get_text())
        for i in range(len(boxes))
        for j in range(i + 1, len(boxes))
        if boxes[i].overlaps(boxes[j])
    ]
    return off, pairs


def _within(box, whole):
    return whole.x0 <= box.x0 and box.x1 <= whole.x1 + 1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 + 1


# --- The curves --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("infinite", [0, 2])
def test_the_curves_are_those_of_people_one_by_one(infinite):
    rng = np.random.default_rng(3)
    counts, largest = rng.integers(1, 9, 40), rng.choice([0.4, 0.5, 0.75, 0.9995, 1.0], 40)
    divergence = rng.random(40)
    divergence[:infinite] = inf
    people = Individuals(counts, largest, divergence, 0, 3)
    one_by_one = np.sort(np.repeat(divergence, counts))
    k, mean = people.mean_of_top()
    np.testing.assert_array_equal(k, np.arange(1, len(one_by_one) + 1)[np.isin(np.arange(1, counts.sum() + 1), k)])
    assert {1, 2, 3, int(counts.sum())} <= set(k.tolist())
    for n, value in zip(k, mean, strict=True):
        assert value == pytest.approx(one_by_one[:n].mean())
    known, at_least = people.known_with()
    everybody = np.repeat(largest, counts)
    assert dict(zip(known, at_least, strict=True)) == {p: (everybody >= p).sum() for p in set(largest)}


def test_curves_of_many_people_have_few_points_that_are_right():
    largest = np.random.default_rng(0).random(5000)
    people = Individuals(np.full(5000, 7), largest, largest, 0, 2)
    k, mean = people.mean_of_top()
    known, at_least = people.known_with()
    assert len(k) <= 400
    assert len(known) <= 400
    assert (k[-1], at_least[0], known[-1]) == (35000, 35000, largest.max())
    assert mean[-1] == pytest.approx(largest.mean())
    assert at_least.tolist() == [7 * int((largest >= p).sum()) for p in known]


# --- Estimates ---------------------------------------------------------------------------------------------------


def leaf_of(tree, row):
    """The leaf of a record, found by walking down the document."""
    nodes = {node["id"]: node for node in tree["nodes"]}
    node = tree["nodes"][0]
    while "attribute" in node:
        value = row[node["attribute"]]
        node = nodes[next(branch["child"] for branch in node["branches"] if value in branch["in"])]
    return node["id"]


def test_blocks_of_leaves_are_their_people_and_how_well_they_are_known(d1):
    axes = drawn(lambda ax: d1.plot(ax=ax))
    tree = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))["trees"][0]
    rows = d1.posterior
    rows["leaf"] = [leaf_of(tree, row) for row in rows.to_dict("records")]
    rows["surest"] = rows[["P(<=50K)", "P(>50K)"]].max(axis=1)
    expected = {}
    for leaf, found in rows.groupby("leaf"):
        expected[leaf] = (found["count"].sum(), np.average(found["surest"], weights=found["count"]))
    blocks = [patch.get_data() for patch in axes.findobj(StepPatch)]
    edges = blocks[0].edges
    heights = sum(block.values for block in blocks)
    assert sorted(zip(np.diff(edges).tolist(), heights.round(9).tolist(), strict=True)) == sorted(
        (n, round(p, 9)) for n, p in expected.values()
    )
    assert (np.diff(heights) <= 1e-12).all()
    names = {text.get_text(): text.get_position()[0] for text in axes.texts}
    for leaf, (n, p) in expected.items():
        i = int(np.searchsorted(edges, names[leaf])) - 1
        assert (np.diff(edges)[i], heights[i]) == pytest.approx((n, p))
    assert {"base rate 0.545", "uniform guess 0.5"} <= {text.get_text() for text in axes.get_legend().get_texts()}


def test_colors_of_leaves_say_who_is_certain(d1):
    axes = drawn(lambda ax: d1.plot("leaves", ax=ax))
    labels = [patch.get_label() for patch in axes.findobj(StepPatch)]
    assert labels == ["nobody in the leaf is certain (3 leaves)", "all are certain (2 leaves)"]
    certain = axes.findobj(StepPatch)[1].get_data()
    assert np.diff(certain.edges)[certain.values > 0].sum() == d1.disclosure.certain == 5


def test_removed_leaves_are_shown_and_another_tree_is_refused():
    people = pd.DataFrame({"A": list("aaaabbbbbc"), "X": list("xxyxyyyxyx")})
    result = maxent.estimate(prune_leaf(id3(people, target="X", qi=["A"], publish="counts"), 2), people[["A"]])
    axes = drawn(lambda ax: result.plot(ax=ax))
    assert "removed" in [text.get_text() for text in axes.texts]
    assert axes.get_xlim() == (0, 10)
    refused("tree: expected a number from 0 to 0, found 1", result.plot, ax=axes, tree=1)


def test_people_whom_private_attributes_may_send_to_several_leaves_count_in_each():
    people = pd.DataFrame({"A": list("aabb"), "P": list("pqpq"), "X": list("xyyy")})
    release = id3(people, target="X", qi=["A"], private=["P"], publish="counts")
    axes = drawn(lambda ax: maxent.estimate(release, people[["A"]]).plot(ax=ax))
    assert axes.get_xlim()[1] > len(people)
    assert axes.get_xlabel().startswith("individuals who can be in it")


def test_the_posterior_curve_counts_people(d1):
    axes = drawn(lambda ax: d1.plot("posterior", ax=ax))
    curve = axes.lines[0]
    surest = np.repeat(d1.posterior[["P(<=50K)", "P(>50K)"]].max(axis=1), d1.posterior["count"])
    x, y = curve.get_xdata(), curve.get_ydata()
    assert curve.get_drawstyle() == "steps-pre"
    assert (x[0], y[0], x[-1], y[-1]) == (0.5, 11, 1.0, 0)
    assert y[1:-1].tolist() == [(surest >= p).sum() for p in x[1:-1]]
    assert axes.get_title(loc="left") == "5 of 11 individuals are certain"
    assert axes.get_ylabel() == "individuals"


def test_the_divergence_curve_ends_at_the_overall_divergence(d1):
    axes = drawn(lambda ax: d1.plot("divergence", ax=ax))
    x, y = axes.lines[0].get_data()
    found = np.sort(np.repeat(d1.posterior["divergence"], d1.posterior["count"]))
    assert x.tolist() == list(range(1, 12))
    np.testing.assert_allclose(y, found.cumsum() / np.arange(1, 12))
    assert y[-1] == pytest.approx(d1.disclosure.divergence.overall)
    assert "nats" in axes.get_ylabel()


@pytest.mark.parametrize("kind", figures.KINDS)
@pytest.mark.parametrize("which", ["d1", "one", "many"])
def test_texts_of_an_estimate_are_readable(which, kind, request):
    axes = drawn(lambda ax: request.getfixturevalue(which).plot(kind, ax=ax))
    assert unreadable(axes.figure) == ([], [])
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_a_plot_of_an_estimate_that_needs_more_says_so(untrue, d1):
    refused("truth: expected the confidential data", untrue.plot, "divergence")
    refused("kind: expected one of leaves, posterior, divergence, found 'pie'", d1.plot, "pie")


# --- Comparisons -------------------------------------------------------------------------------------------------


def row(name, defense, divergence, accuracy, **other):
    """A row of a comparison of 100 people, as far as plots read it."""
    measures = {"certain": 7, "exposed": 3, "bayes_vulnerability": 0.6, "max_posterior": 0.9, "individuals": 100}
    return {
        "release": name,
        "defense": defense,
        "divergence": divergence,
        "train_accuracy": accuracy,
        **measures,
        **other,
    }


ROWS = (
    row("before", None, 0.5, 0.9),
    row("b10", "prune-leaf k=10", 0.8, 0.75),
    row("b2", "prune-leaf k=2", 0.6, 0.85),
    row("alone", "erp k=5 rule=twig", 0.65, 0.83),
    row("drawn", "rdt k=20", inf, 0.7),
    row("untold", "kadet k=3", 0.7, None),
)


def test_the_tradeoff_has_a_point_for_each_release_and_a_line_for_several_k():
    axes = drawn(lambda ax: Comparison(ROWS).plot("tradeoff", ax=ax))
    lines = {line.get_label(): (line.get_linestyle(), *np.transpose(line.get_data()).tolist()) for line in axes.lines}
    assert lines == {
        "before": ("None", [0.5, 0.9]),
        "prune-leaf": ("-", [0.6, 0.85], [0.8, 0.75]),
        "alone": ("None", [0.65, 0.83]),
    }
    assert sorted(text.get_text() for text in axes.texts) == ["alone", "before", "k=10", "k=2"]
    assert axes.get_title(loc="left") == "infinite divergence, or no accuracy: drawn, untold"
    assert axes.get_ylabel() == "train accuracy"
    assert axes.get_xlabel().startswith("overall divergence, nats")


def test_the_tradeoff_prefers_the_accuracy_on_a_test():
    rows = [{**r, "test_accuracy": 0.5 + i / 10} for i, r in enumerate(ROWS[:2])]
    axes = drawn(lambda ax: Comparison(tuple(rows)).plot("tradeoff", ax=ax))
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0.5], [0.6]]
    assert axes.get_ylabel() == "test accuracy"


def test_bars_are_the_measures_of_each_release():
    rows = (*ROWS[:2], row("third", None, 0.1, 0.2, exposed=None))
    axes = drawn(lambda ax: Comparison(rows).plot(ax=ax))
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("certain individuals", "exposed individuals", "Bayes vulnerability", "largest posterior", "train accuracy")
    ]
    widths = [[bar.get_width() for bar in group] for group in axes.containers]
    assert widths == [[0.07, 0.03, 0.6, 0.9, 0.9], [0.07, 0.03, 0.6, 0.9, 0.75], [0.07, 0.0, 0.6, 0.9, 0.2]]
    assert "not known" in [text.get_text() for text in axes.texts]
    tops = [group[0].get_y() for group in axes.containers]
    assert tops == sorted(tops)


@pytest.fixture(scope="module")
def compared():
    return maxent.compare({"tree": FILES[0], "$again$ " + "and again " * 9: FILES[0]}, FILES[1], D1 / "truth.csv")


@pytest.mark.parametrize("kind", comparisons.KINDS)
def test_texts_of_a_comparison_are_readable(compared, kind):
    figure = Figure(figsize=comparisons.size_of(compared, kind), layout="constrained")
    compared.plot(kind, ax=figure.add_subplot())
    assert unreadable(figure) == ([], [])


def test_texts_of_many_releases_are_readable():
    rows = tuple(row(f"m-k{k}", f"method k={k}", 0.5 + k / 50, 0.9 - k / 40, test_accuracy=0.5) for k in range(1, 16))
    for kind in ("bars", "tradeoff"):
        many = Comparison(rows)
        figure = Figure(figsize=comparisons.size_of(many, kind), layout="constrained")
        many.plot(kind, ax=figure.add_subplot())
        assert unreadable(figure) == ([], [])


def test_names_go_where_nothing_is():
    """Points so close that the first place beside each is taken by the other."""
    rows = (*(row(f"release {i}", None, 0.5 + i / 1000, 0.9) for i in range(4)), row("far", None, 0.9, 0.5))
    axes = drawn(lambda ax: Comparison(rows).plot("tradeoff", ax=ax))
    assert len(axes.texts) == 5
    assert unreadable(axes.figure) == ([], [])


@pytest.mark.parametrize("kind", ["posterior", "divergence"])
def test_curves_of_all_releases(compared, d1, kind):
    axes = drawn(lambda ax: compared.plot(kind, ax=ax))
    alone = drawn(lambda ax: d1.plot(kind, ax=ax)).lines[0]
    curves = [line for line in axes.lines if len(line.get_xdata()) > 1]
    assert len(curves) == 2
    for curve in curves:
        np.testing.assert_allclose(curve.get_xydata(), alone.get_xydata(), atol=1e-6)
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said[0] == ("tree (5 certain)" if kind == "posterior" else "tree (0.0775 nats)")
    assert said[1].startswith(r"\$again\$ and again")
    assert "…" in said[1]


def test_a_plot_of_a_comparison_that_needs_more_says_so():
    without = Comparison(tuple({k: v for k, v in r.items() if k != "divergence"} for r in ROWS))
    for kind in ("tradeoff", "divergence"):
        refused("truth: expected the confidential data", without.plot, kind)
    with pytest.raises(maxent.InvalidInput, match="people: expected the individuals of every release"):
        Comparison(ROWS).plot("posterior")
    with pytest.raises(maxent.InvalidInput, match=r"test: expected a test, or .*found no accuracy of any release"):
        Comparison(ROWS[-1:]).plot("tradeoff")
    with pytest.raises(maxent.InvalidInput, match="kind: expected one of bars, tradeoff, posterior, divergence"):
        Comparison(ROWS).plot("leaves")


# --- Manners -----------------------------------------------------------------------------------------------------


def test_without_axes_there_is_a_new_figure_that_nobody_shows(d1, compared, monkeypatch):
    import matplotlib
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda *_, **__: pytest.fail("shown"))
    monkeypatch.delenv("DISPLAY", raising=False)
    pyplot.close("all")  # figures that other tests left
    before = dict(matplotlib.rcParams)
    try:
        new = [d1.plot(), compared.plot("tradeoff")]
        assert [axes.figure.number for axes in new] == pyplot.get_fignums()[-2:]
        assert d1.plot("posterior", ax=new[0]) is new[0]
        assert len(pyplot.get_fignums()) == 2
    finally:
        pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_extra_is_named(d1, compared, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (d1.plot, compared.plot):
        with pytest.raises(MissingExtra, match="pip install matplotlib"):
            plot()
    printed = printed_by(capsys, ["estimate", *FILES, "-o", "out.svg"], 2)
    assert printed.out == ""
    assert printed.err.startswith("maxent: a plot needs matplotlib: pip install matplotlib; in a copy")


# --- Files -------------------------------------------------------------------------------------------------------

STARTS = {".svg": b"<?xml", ".png": b"\x89PNG\r\n", ".PDF": b"%PDF"}


@pytest.mark.parametrize("suffix", STARTS)
def test_estimate_and_compare_write_plots(tmp_path, capsys, suffix):
    calls = {
        "estimate": ["estimate", *FILES, *TRUTH, "--plot", "divergence"],
        "compare": ["compare", FILES[0], "--qi", FILES[1], *TRUTH, "--plot", "tradeoff"],
    }
    for name, call in calls.items():
        path = tmp_path / (name + suffix)
        assert main([*call, "-o", str(path)]) == 0
        assert path.read_bytes().startswith(STARTS[suffix])
        first = path.read_bytes()
        assert main([*call, "-o", str(path)]) == 0
        assert suffix == ".png" or path.read_bytes() == first
        said = capsys.readouterr()
        assert said.err == f"maxent: replaced: {path}\n"
        assert "overall" in said.out
    assert len(list(tmp_path.iterdir())) == 2


def test_the_default_plots_have_their_texts_as_texts(tmp_path, capsys):
    assert main(["estimate", *FILES, "-o", str(tmp_path / "a.svg")]) == 0
    assert main(["compare", FILES[0], "--qi", FILES[1], "-o", str(tmp_path / "b.svg")]) == 0
    assert "all are certain (2 leaves)</text>" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "Bayes vulnerability</text>" in (tmp_path / "b.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    {
        "truth": (["--plot", "divergence", "-o", "a.svg"], "maxent: --truth: expected the confidential data"),
        "table": (["--plot", "posterior", "-o", "a.csv"], "maxent: --plot: expected -o with a file name that ends in"),
        "none": (["--plot", "posterior"], "maxent: --plot: expected -o with a file name that ends in"),
        "suffix": (["-o", "a.gif"], "maxent: -o: expected a file name that ends in .csv or"),
    }.values(),
)
def test_plots_that_cannot_be_written_are_refused_before_work(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("maxent.api.posterior.estimate_case", lambda *_, **__: pytest.fail("estimated"))
    for call in (["estimate", *FILES], ["compare", FILES[0], "--qi", FILES[1]]):
        out, err = printed_by(capsys, [*call, *arguments], 2)
        assert out == ""
        assert message in err
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_has_all_kinds():
    assert tuple(kind.value for kind in estimate.EstimatePlot) == figures.KINDS
    assert tuple(kind.value for kind in compare.ComparisonPlot) == comparisons.KINDS


@pytest.mark.slow
def test_the_example_draws_the_figures_of_the_page(tmp_path, capsys, monkeypatch):
    examples = Path(__file__).parents[2] / "examples"
    monkeypatch.setattr(sys, "argv", ["plots", str(tmp_path / "figures")])
    runpy.run_path(str(examples / "plots.py"), run_name="__main__")
    shown = re.findall(r"\(figures/(.*?)\)", (examples.parent / "docs" / "plots.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert {path.name for path in (examples.parent / "docs" / "figures").glob("plots_*")} == set(shown)
