"""The whole tree at a glance, and the way to a place, with one condition for each attribute."""

import re
from pathlib import Path

import pandas as pd
import pytest

import maxent
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.results.html_report.build import MOST, Overview, overview, release_view
from maxent.results.html_report.summaries import way
from maxent.results.html_report.view import ReleaseView, rounded


def steps(cuts: list[float], last: dict[str, int] | None = None) -> Release:
    """A tree that cuts numbers off, in turn from below and from above: the end is between the last two cuts."""
    nodes = []
    for i, cut in enumerate(cuts):
        on, off = (f"n{i + 1}" if i + 1 < len(cuts) else "end"), f"l{i}"
        low, high = (on, off) if i % 2 else (off, on)
        nodes.append(Node(f"n{i}", "age", (Branch(low, le=cut), Branch(high, gt=cut))))
    nodes += [Node(f"l{i}", counts={"x": 1, "y": 1}) for i in range(len(cuts))]
    nodes.append(Node("end", counts=last or {"x": 1, "y": 1}))
    return Release(Target("T", ("x", "y")), (Attribute("age", "numeric"),), (Tree(tuple(nodes)),))


SIX = [0.5, 6, 1.5, 5, 2.5, 4]
AGES = [0, 1, 2, 3, 4.5, 5.5, 9]


def _stacks(whole: Overview) -> list[tuple[int, dict[str, float]]]:
    """Columns with more than one shade, and the shares of their heights."""
    found: dict[int, dict[str, float]] = {}
    for name, boxes in whole.shaded:
        for x, high in re.findall(r"M(\d+) [\d.]+h1v([\d.]+)", boxes):
            found.setdefault(int(x), {})[name] = float(high)
    several = {x: parts for x, parts in found.items() if len(parts) > 1}
    return [(x, {n: high / sum(parts.values()) for n, high in parts.items()}) for x, parts in several.items()]


def view(release: Release, ages: list[float]) -> ReleaseView:
    found = maxent.estimate(release, pd.DataFrame({"age": [age for age in ages for _ in range(2)]}))
    return release_view(found, found.numbers)


def test_a_way_has_one_condition_for_each_attribute() -> None:
    [tree] = view(steps([0.5, 4, 1.5, 3]), [0, 1, 2, 3.5, 6]).trees
    end = next(i for i, node in enumerate(tree.nodes) if node.name == "end")
    assert way(tree, end) == "1.5 < age <= 3"
    assert (tree.nodes[end].condition, tree.nodes[end].title) == ("1.5 < age <= 3", "age <= 3")
    assert way(tree, 0) == "everybody"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (37.5, "37.5"),
        (37.0, "37"),
        (-1234567.25, "-1234567.25"),
        (24.500000953674316, "24.5"),
        (-24.512345678, "-24.5123"),
        (1234567.123456, "1234567.1"),
        (0.1 + 0.2, "0.3"),
        (0.000123456789, "0.000123457"),
        (1e-9, "1e-09"),
    ],
)
def test_ends_of_intervals_are_rounded(value: float, text: str) -> None:
    assert rounded(value) == text


def test_ends_that_would_be_rounded_to_the_same_are_written_in_full() -> None:
    found = view(steps([1.0000000001, 1.0000000002]), [0, 1.00000000015, 2])
    assert "1.0000000001 < age <= 1.0000000002" in {node.condition for node in found.trees[0].nodes}


def test_every_leaf_is_a_column() -> None:
    found = view(steps(SIX), AGES)
    whole = overview(found.trees[0], found.baseline)
    assert (whole.width, whole.leaves, whole.merged) == (7, 7, 0)
    assert [found.trees[0].nodes[place].name for place in whole.columns][3] == "end"
    boxes = re.findall(r"M(\d+) ([\d.]+)h1v([\d.]+)h-1z", "".join(boxes for _, boxes in whole.shaded))
    assert sorted(int(x) for x, _, _ in boxes) == list(range(7))
    assert all(float(y) + float(high) == pytest.approx(whole.height, abs=1e-3) for _, y, high in boxes)
    assert whole.inner.count("M") == 6


def test_of_a_large_tree_the_parts_with_few_people_are_merged() -> None:
    found = view(steps(SIX), AGES)
    whole = overview(found.trees[0], found.baseline, most=4)
    assert (whole.width, whole.leaves, whole.merged) == (4, 7, 1)
    mixed = view(steps(SIX, last={"x": 2, "y": 0}), AGES)
    [(x, parts)] = _stacks(overview(mixed.trees[0], mixed.baseline, most=4))
    assert x == 2
    assert parts == {"s0": pytest.approx(6 / 8), "s4": pytest.approx(2 / 8)}
    assert MOST >= 100


def test_the_report_has_the_whole_tree(tmp_path: Path) -> None:
    found = maxent.estimate(steps(SIX), pd.DataFrame({"age": AGES * 2}))
    found.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    figure = text.split('<figure class="overview">')[1].split("</figure>")[0]
    assert "The whole tree: every column is a leaf" in figure
    assert "7 leaves." in figure
    assert len(figure.split('data-places="')[1].split('"')[0].split()) == 7
