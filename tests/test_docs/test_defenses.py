"""What the documentation says about methods of defense is what the registry says."""

from support.paths import ROOT

from maxent.models.defenses.registry import methods
from maxent.studies.study_file import FILES, RELEASE


def test_the_table_of_methods_has_them_all():
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    table = page.split("| METHOD | does | guarantees |")[1].split("\n\n")[0]
    missing = [
        f"| `{name}` | {kind.summary} | {kind.promise} |"
        for name, kind in methods().items()
        if f"| `{name}` |" not in table
    ]
    assert missing == []


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
