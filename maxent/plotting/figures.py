"""Parts of all plots: matplotlib once it is there, axes to draw on, the look of a figure, and its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from maxent.models.arguments import shorten
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
    """Refuse to go on where no plot can be drawn.

    Raises `MissingExtra` when matplotlib is not installed.
    """
    need("matplotlib", "a plot needs matplotlib")


def missing(field: str, expected: str, found: str) -> InvalidInput:
    """The error of a plot that cannot be drawn from what there is."""
    return InvalidInput("plot", [Problem(ARGUMENT, field, expected, found)])


def check_kind(kind: str, kinds: Iterable[str]) -> None:
    """Refuse what is no kind of plot."""
    if kind not in (known := tuple(kinds)):
        raise missing("kind", "one of " + ", ".join(known), shorten(kind))


def chosen_plot(kind: str | None, path: str | None, default: str) -> str | None:
    """The plot that ``--plot KIND`` and ``-o FILE`` ask for together; None when the file is no plot.

    Raises `MissingExtra` when matplotlib is not installed, and a plot is asked for.
    """
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


def save_plot(
    draw: Callable[[Figure], object],
    path: str | os.PathLike[str],
    size: tuple[float, float] = SIZE,
    option: str = "plot",
) -> None:
    """Write a figure to a file, by suffix, atomically; the same numbers give the same file.

    ``draw``: Draws on the figure, which has nothing on it yet. ``path``: Ends in one of `PLOTS`. ``size``: Width and
    height, inches. ``option``: what errors call the file. Raises `MissingExtra` when matplotlib is not installed.
    """
    check_outputs({option: (os.fspath(path), PLOTS)})
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
