"""Figures of the pages: small files, and a way to write them that changes nothing but their size."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from papers.drawing import compact, panels

TOP = Path(__file__).parents[2]
FIGURES = sorted([*TOP.glob("docs/figures/*"), *TOP.glob("examples/papers/*/figures/*")])
LARGEST = 40_000  # Bytes of a figure: a page of text with markup


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_figure_is_small_and_on_a_page(path):
    assert path.stat().st_size < LARGEST
    if path.suffix == ".svg":
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    else:
        assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert any(f"figures/{path.name})" in page.read_text(encoding="utf-8") for page in path.parents[1].glob("*.md"))


def test_what_is_drawn_is_small_and_keeps_its_text(tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install -e '.[plot]'")
    with panels(tmp_path / "two.svg", 2) as both:
        for axes in both:
            axes.plot(range(100), [0.12345 * x for x in range(100)], marker="o", label="floor 0.12345")
            axes.legend()
    text = (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert len(text) < 25_000
    assert text.count("floor 0.12345</text>") == 2
    assert len(re.findall(r"<use [^>]*/>", text)) >= 200
    names = re.findall(r' id="([^"]*)"', text)
    assert sorted({*re.findall(r"#(\w+)[\")]", text)} - {"fff"}) == sorted(names)
    assert {*re.findall(r' class="(\w+)"', text)} == {*re.findall(r"^\.(\w+) \{", text, re.MULTILINE)}


def test_elements_coordinates_and_styles_stay():
    svg = (
        "<svg>\n <defs>\n  <style>*{a: b}</style>\n </defs>\n"
        ' <g id="axes">\n  <g id="line">\n   <path id="m1" d="M 1.23456 2 \nL -0.5 66.777777 \n" style="fill: none"/>\n'
        '   <use xlink:href="#m1" x="1.9999" style="fill: none"/>\n  </g>\n </g>\n'
        ' <text style="b: c">0.12345</text>\n</svg>\n'
    )
    assert compact(svg) == (
        "<svg>\n<defs>\n<style>*{a: b}\n.s0 {fill: none}\n.s1 {b: c}\n</style>\n</defs><g><g>\n"
        '<path id="m1" d="M 1.23 2 L -0.5 66.78 " class="s0"/>\n<use xlink:href="#m1" x="2.00" class="s0"/></g></g>\n'
        '<text class="s1">0.12345</text>\n</svg>\n'
    )
