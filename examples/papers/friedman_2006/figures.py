"""The figures of this folder's README.md, as SVG files that are the same whenever the numbers are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papers.drawing import Line, draw, panels
from papers.friedman_2006.page import Point, Results

NAMES = {"id3": "ID3", "c45": "C4.5"}


def save_figures(results: Results, folder: Path) -> None:
    """Draw everything: errors and exposed individuals against k, errors against the limit, D_overall against k."""
    folder.mkdir(parents=True, exist_ok=True)

    def line(label: str, name: str, method: str, value: Callable[[Point], float]) -> Line:
        return Line(label, {point.x: value(point) for point in results[name, method]})

    def by_k(name: str, value: Callable[[Point], float]) -> list[Line]:
        return [
            line("kADET", name, "kadet", value),
            line("TDS first", name, "tds", value),
            line("kADET without hierarchies", name, "flat", value),
        ]

    n = results["id3", "none"][0].span
    for name, title in NAMES.items():
        with panels(folder / f"kadet_{name}.svg", 2) as (left, right):
            plain = line(f"plain {title}", name, "plain", lambda point: point.error)
            draw(left, [*by_k(name, lambda point: point.error), plain], "k", f"{title}: test error", zero=False)
            exposed = by_k(name, lambda point: 100 * point.exposed / n)
            draw(right, exposed, "k", f"{title}: exposed individuals, %")
    with panels(folder / "kadet_limit.svg", 2) as both:
        for axes, (name, title) in zip(both, NAMES.items(), strict=True):
            lines = [
                line("entropy l-diverse", name, "diverse", lambda point: point.error),
                line("one leaf", name, "none", lambda point: point.error),
                line(f"plain {title}", name, "plain", lambda point: point.error),
            ]
            draw(axes, lines, "confidence limit", f"{title}: test error", log=False, zero=False)
    with panels(folder / "kadet_disclosure.svg", 2) as both:
        for axes, (name, title) in zip(both, NAMES.items(), strict=True):
            lines = [
                *by_k(name, lambda point: point.divergence),
                line("one leaf", name, "none", lambda p: p.divergence),
            ]
            draw(axes, lines, "k", f"{title}: D_overall, nats")
