"""The tables of methods and options in the documentation say what the registry says."""

from __future__ import annotations

from pathlib import Path

from maxent.models.defenses.registry import methods
from maxent.models.parameters import parameters_of
from maxent.studies.options import FILES, RELEASE

ROOT = Path(__file__).parents[2]


def option_rows():
    """A row for each option, with the methods that have it; two where methods differ in what they say about it."""
    takers = {}
    for method, kind in methods().items():
        for name, each in parameters_of(kind).items():
            suits = ", ".join(f"`{choice}`" for choice in each.choices) or each.expected.removeprefix("True or False")
            default = "" if not each.default else f"`{each.default}`"
            told = (f"`--{name.replace('_', '-')}`", suits, default, each.about.help)
            takers.setdefault(told, []).append(f"`{method}`")
    names = list(dict.fromkeys(name for name, *_ in takers))
    for told in sorted(takers, key=lambda told: names.index(told[0])):
        of = "all" if len(takers[told]) == len(methods()) else ", ".join(takers[told])
        yield f"| {told[0]} | {of} | {' | '.join(told[1:])} |".replace("  ", " ")


def test_the_options_of_methods_are_those_of_the_registry():
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    expected = "\n".join(option_rows())
    shown = page.split("<!-- options of methods -->")[1]
    assert shown.partition("| --- |")[2].partition("\n")[2].partition("\n\n")[0] == expected, expected


def test_the_table_of_methods_has_them_all():
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    table = page.split("| METHOD | does | guarantees |")[1].split("\n\n")[0]
    assert [name for name in methods() if f"| `{name}` |" not in table] == []


def test_a_study_has_the_options_of_methods():
    page = (ROOT / "docs" / "sweep.md").read_text(encoding="utf-8")
    values = ", ".join(f"`{name}`" for name in RELEASE if name not in FILES)
    files = ", ".join(f"`{name}`" for name in FILES)
    assert f"| {values} | `maxent defend` |" in page, values
    assert f"| {files} | `maxent defend`: `true` for those of the data set |" in page, files


def test_the_method_of_the_documentation_is_the_tested_one():
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    shown = page.split("```python\n")[1].split("```")[0]
    assert shown == (ROOT / "tests" / "toy_defense" / "maxent_blunt.py").read_text(encoding="utf-8")
