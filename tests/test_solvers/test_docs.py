"""The back end that docs/solvers.md shows is the one that is tested."""

from support.paths import ROOT


def test_the_example_of_the_documentation_is_the_tested_one():
    text = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    shown = next(block for block in text.split("```python\n")[1:] if "class MyBackend" in block).split("```")[0]
    tested = (ROOT / "tests" / "toy_backend" / "maxent_toy.py").read_text(encoding="utf-8")
    assert shown.replace("MyBackend", "ToyBackend").replace('"mine"', '"toy"') == tested
    assert len(tested.splitlines()) < 100
