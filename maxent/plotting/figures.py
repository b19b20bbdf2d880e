"""Plots of an estimate and of a frontier, and parts of all plots: axes, the look of a figure, and its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from maxent.disclosure.inference import Individuals, Inference, NodeDisclosure, disclosed_by_node
from maxent.disclosure.measures import MEASURES
from maxent.models.arguments import shorten
from maxent.models.defenses.method import CERTAIN
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, printable
from maxent.models.files.output import PLOT, check_outputs, write_atomically
from maxent.models.files.result_files import PLOTS
from maxent.models.packages import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# Told apart by the colour-blind, too: Okabe and Ito, "Color Universal Design", 2008.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
# Width and height of a figure, inches.
SIZE = (6.4, 4.2)
DPI = 150
# Characters of a name in a figure.
LONGEST = 32

# Texts of an SVG stay text, and the same numbers give the same file.
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "maxent", "font.size": 10.0}


def check_matplotlib() -> None:
    """Refuse to go on where no plot can be drawn."""
    need("matplotlib", "a plot needs matplotlib")


def missing(field: str, expected: str, found: str) -> InvalidInput:
    """The error of a plot that cannot be drawn from what there is."""
    return InvalidInput("plot", [Problem(ARGUMENT, field, expected, found)])


def check_kind(kind: str, kinds: Iterable[str]) -> None:
    """Refuse what is no kind of plot."""
    if kind not in (known := tuple(kinds)):
        raise missing("kind", "one of " + ", ".join(known), shorten(kind))


def chosen_plot(kind: str | None, path: str | None, default: str) -> str | None:
    """The plot that ``--plot KIND`` and ``-o FILE`` ask for together; None when the file is no plot."""
    if path is not None and path.lower().endswith(PLOTS):
        check_matplotlib()
        return kind or default
    if kind is not None:
        found = "none" if path is None else shorten(path)
        expected = f"output= with a file name that ends in {' or '.join(PLOTS)}"
        raise InvalidInput("plot", [Problem(ARGUMENT, "plot", expected, found)])
    return None


def axes_or_new(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """The axes that were given, else those of a new figure of pyplot, as pandas and scikit-learn do it."""
    check_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
    return made


def color_of(i: int, n: int) -> Any:
    """The color of the i-th of n lines: told apart by the colour-blind, too; many go from dark to light."""
    if n <= len(COLORS):
        return COLORS[i]
    from matplotlib import colormaps

    return colormaps["cividis"](i / (n - 1))


def tidy(axes: Axes, grid: Literal["both", "x", "y"] = "y") -> None:
    """A frame of two sides, and pale lines behind the data."""
    axes.grid(axis=grid, color="0.93")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def legend_beside(axes: Axes, title: str = "") -> None:
    """The legend, to the right of the axes, where it covers nothing."""
    place: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
    axes.legend(title=title or None, alignment="left", frameon=False, fontsize="small", title_fontsize="small", **place)


def people_axis(axis: Axis) -> None:
    """Whole numbers with separators: 30,162."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value == round(value) else "")


def name_of(text: object, longest: int = LONGEST) -> str:
    """A name as it fits into a figure: printable, at most some characters, and no formula to matplotlib."""
    name = printable(text)
    name = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return name.replace("$", r"\$")


def save_plot(draw: Callable[[Figure], object], path: str | os.PathLike[str], size: tuple[float, float] = SIZE) -> None:
    """Write a figure of a size in inches to a file, by suffix, atomically; the same numbers give the same file."""
    check_outputs({"plot": (os.fspath(path), PLOTS)})
    check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    suffix = os.fspath(path).lower().rpartition(".")[2]
    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix, {})
        told = {"Software" if suffix == "png" else "Creator": PLOT, **undated}
        write_atomically(path, lambda temporary: figure.savefig(temporary, format=suffix, dpi=DPI, metadata=told))


# Accuracy against what a limit is about: the candidates of an advice, and the frontier.


Row = Mapping[str, Any]


def draw_frontier(ax: Axes | None, frontier: Row, rows: Sequence[Row], names: Mapping[str, str]) -> Axes:
    """Draw the accuracy, or cost, of candidates that were tested, the frontier and the limit."""
    axes = axes_or_new(ax)
    limit = frontier["limit"]
    for within, label in ((True, "within the limit"), (False, "beyond the limit")):
        dots = [
            (check["found"], row["level"])
            for row in rows
            for check in row["checks"]
            if check["key"] == limit and check["found"] is not None and row["level"] is not None
            if (check["status"] == "pass") == within
        ]
        face = COLORS[0] if within else "none"
        axes.scatter([x for x, _ in dots], [y for _, y in dots], s=18, color=COLORS[0], facecolors=face, label=label)
    points, measure = frontier["points"], "accuracy" if all(row["cost"] is None for row in rows) else "cost"
    axes.plot([p["found"] for p in points], [p[measure] for p in points], color=COLORS[1], label="frontier")
    axes.axvline(frontier["stated"], color="0.5", linestyle="--", label="limit")
    axes.set_xlabel(names[limit])
    axes.set_ylabel(f"{measure} on people not seen")
    tidy(axes, "both")
    axes.legend(frameon=False, fontsize="small")
    return axes


# Curves over the individuals: how many are known how well, and how far the best known are from the truth.


_DASHES = ("-", "--", ":", "-.")


def draw_posteriors(axes: Axes, people: Mapping[str, Individuals]) -> None:
    """Number of individuals with a class of at least a probability; a curve per release, from 1 / classes on."""
    for i, (name, found) in enumerate(people.items()):
        probability, at_least = found.known_with()
        x, y = np.r_[1 / found.classes, probability, 1.0], np.r_[len(found), at_least, 0]
        label = f"{name_of(name)} ({found.certain:,} certain)"
        axes.plot(x, y, drawstyle="steps-pre", **_line(i), label=label)
    lowest, highest = axes.get_xlim()[0], max(len(found) for found in people.values())
    axes.set_xlim(min(lowest, 0.99), 1.01)
    axes.set_ylim(0, highest * 1.05)
    axes.set_xlabel("probability of the most likely class, at least")
    axes.set_ylabel(MEASURES["certain"].unit)
    people_axis(axes.yaxis)
    if len(people) > 1:
        legend_beside(axes, f"certain: {CERTAIN} or more")
    else:
        (only,) = people.values()
        if only.certain:
            axes.plot(1.0, only.certain, "o", color=COLORS[1], clip_on=False, zorder=3)
        axes.set_title(f"{only.certain:,} of {len(only):,} individuals are certain", loc="left", fontsize="medium")
    tidy(axes)


def draw_divergences(axes: Axes, people: Mapping[str, Individuals]) -> None:
    """Mean divergence of the K most disclosed individuals against K; a curve per release, which need a truth."""
    measure = MEASURES["divergence"]
    for i, (name, found) in enumerate(people.items()):
        k, mean = found.mean_of_top()
        known = np.isfinite(mean)
        overall = f"{measure.text(mean[-1])} {measure.unit}" if known[-1] else "infinite"
        axes.plot(k[known], mean[known], **_line(i), label=f"{name_of(name)} ({overall})")
        axes.plot(k[known][-1:], mean[known][-1:], "o", color=_line(i)["color"], markersize=5)
        if len(people) == 1:
            axes.set_title(f"overall divergence: {overall}", loc="left", fontsize="medium")
    axes.set_xscale("log")
    axes.set_xlim(0.8, 1.25 * max(len(found) for found in people.values()))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.minorticks_off()
    people_axis(axes.xaxis)
    axes.set_xlabel("K (individuals)")
    axes.set_ylabel(f"mean divergence of the K most disclosed, {measure.unit}")
    if len(people) > 1:
        legend_beside(axes, "overall divergence")
    tidy(axes)


def _line(i: int) -> dict[str, Any]:
    """The look of the i-th line: colors first, then also dashes, so that many can be told apart."""
    return {"color": COLORS[i % len(COLORS)], "linestyle": _DASHES[i // len(COLORS) % len(_DASHES)]}


# Plots of an `maxent.results.estimate.Estimate`.


# The first is the default; ``divergence`` needs a truth.
KINDS = ("leaves", "posterior", "divergence")


def check_estimate_plot(kind: str, *, truth: bool) -> None:
    """Refuse an unknown kind of plot, and a kind that needs a truth where there is none."""
    check_kind(kind, KINDS)
    if kind == "divergence" and not truth:
        raise missing("truth", "the confidential data, which divergences need", "none")


def draw_estimate(axes: Axes, result: Inference, kind: str = KINDS[0], tree: int = 0) -> None:
    """Draw one of `KINDS`; errors as in `check_estimate_plot`."""
    check_estimate_plot(kind, truth=result.disclosure.individual is not None)
    if kind == "leaves":
        draw_leaves(axes, result, tree)
        return
    if kind == "posterior":
        draw_posteriors(axes, {"": Individuals.of(result)})
    else:
        draw_divergences(axes, {"": Individuals.of(result)})


def save_estimate_plot(result: Inference, path: str | os.PathLike[str], kind: str = KINDS[0]) -> None:
    """Write the plot to a file, by suffix; errors as in `check_estimate_plot` and `save_plot`."""
    save_plot(lambda figure: draw_estimate(figure.add_subplot(), result, kind), path)


# Disclosure leaf by leaf: a block for each, its width the individuals, its height their largest posterior.

# Leaves up to which lines part the blocks; more lines would cover them.
PARTED = 60
# Share of the individuals from which on a block is wide enough for the name of its leaf, turned by 90 degrees.
NAMED = 0.035
# What is known without the release, if less than this: then names stand above that line, else below.
_LOW = 0.25

# Certain individuals of a leaf -> color; certain is a class of probability 0.999 or more.
_CERTAIN = (
    ("nobody in the leaf is certain", "#0072b2"),
    ("some are certain", "#e69f00"),
    ("all are certain", "#d55e00"),
)


def draw_leaves(axes: Axes, result: Inference, tree: int = 0) -> None:
    """The leaves of a tree side by side, from the most to the least disclosed, removed ones included.

    A block is as high as the share of right guesses; somebody who may be in several leaves counts in each.
    """
    trees = result.program.release.trees
    if not 0 <= tree < len(trees):
        raise missing("tree", f"a number from 0 to {len(trees) - 1}", str(tree))
    nodes = trees[tree].nodes
    places = disclosed_by_node(result, tree)
    leaves = [found for found in places if found.individuals and (found.id is None or nodes[found.place].is_leaf)]
    leaves.sort(key=lambda found: (-(found.vulnerability or 0.0), -found.individuals, found.place))
    height = np.array([found.vulnerability for found in leaves], np.float64)
    edges = np.append(0, np.cumsum([found.individuals for found in leaves]))
    kind = np.array([_kind(found) for found in leaves])
    found = result.disclosure
    uniform = 1 / result.program.n_classes
    before = float(found.measures.get("base_rate", uniform))
    for i, (label, color) in enumerate(_CERTAIN):
        if (kind == i).any():
            n = int((kind == i).sum())
            text = f"{label} ({n:,} {'leaf' if n == 1 else 'leaves'})"
            axes.stairs(np.where(kind == i, height, 0.0), edges, fill=True, color=color, linewidth=0, label=text)
    if len(leaves) <= PARTED:
        axes.vlines(edges[1:-1], 0, np.maximum(height[1:], height[:-1]), color="white", linewidth=0.7)
        _name(axes, leaves, edges, 0.02 if before > _LOW else before + 0.02)
    if "base_rate" in found.measures:
        axes.axhline(before, color="black", linestyle="--", linewidth=1, label=f"base rate {before:.3g}")
    axes.axhline(uniform, color="black", linestyle=":", linewidth=1, label=f"uniform guess {uniform:.3g}")
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(0, 1)
    several = edges[-1] > result.program.individuals  # where only private attributes say who is where
    who = "individuals who can be in it" if several else "individuals"
    axes.set_xlabel(f"{who}, by leaf from the most to the least disclosed")
    axes.set_ylabel("mean probability of their most likely class")
    people_axis(axes.xaxis)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small")
    tidy(axes)


def _name(axes: Axes, leaves: Sequence[NodeDisclosure], edges: npt.NDArray[np.int64], bottom: float) -> None:
    """The names of leaves in the blocks that are wide enough, from some height on."""
    for found, left, right in zip(leaves, edges, edges[1:], strict=False):
        if right - left >= NAMED * edges[-1]:
            text = "removed" if found.id is None else name_of(found.id, 20)
            place: Any = {"rotation": 90, "ha": "center", "va": "bottom"}
            axes.text((left + right) / 2, bottom, text, color="white", fontsize="small", **place)


def _kind(found: NodeDisclosure) -> int:
    """Row of `_CERTAIN`."""
    return 2 if found.certain == found.individuals else int(found.certain > 0)
