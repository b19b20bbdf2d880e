"""The layout: imports run one way, in no circle, and every folder says what it holds."""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

from support.house import ARROWS, LAYERS, MODULES, ROOT, circles, figures, table

import maxent


def layer_of(name: str) -> int:
    return LAYERS.index(MODULES[name].relative_to(ROOT).parts[0])


def test_imports_run_one_way() -> None:
    upward = {(a, b) for a, found in ARROWS.items() for b in found if layer_of(a) < layer_of(b)}
    assert upward == {("maxent.solvers.backends.newton_", "maxent")}  # for the version


def test_no_modules_import_each_other_in_a_circle() -> None:
    # The package itself loads the names that it offers when they are used, and has the version.
    below = {name: {b for b in found if b != "maxent"} for name, found in ARROWS.items()}
    try:
        tuple(TopologicalSorter(below).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_no_module_hides_a_function_of_its_name() -> None:
    """Whatever imports ``maxent.x`` makes it the attribute ``x`` of the package."""
    assert [name for name in maxent.__all__ if f"maxent.{name}" in MODULES] == []


def test_every_folder_says_what_it_holds() -> None:
    folders = defaultdict(list)
    for name, path in MODULES.items():
        folders[path.parent].append(name)
    for folder in folders:
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
        assert text, folder


def test_the_types_of_arrays_are_named_once() -> None:
    assigned = {
        (name, node.id)
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if node.id in {"BoolArray", "FloatArray", "IntArray", "TINY"}
    }
    assert {name for name, _ in assigned} == {"maxent.models.arrays"}


def test_no_packages_import_each_other_in_a_circle() -> None:
    """Packages at depth 2; imports in functions and for type checking count."""
    assert circles() == []


def test_no_figure_of_the_table_rises() -> None:
    """It may rise with its cell in CONTRIBUTING.md, and a line that says why; a hundredth is free."""
    allowed = {what: int(cells[-1].replace(",", "")) for what, cells in table().items()}
    counted = figures()
    assert [*counted] == [*allowed]
    assert {what: figure for what, figure in counted.items() if figure > 1.01 * allowed[what]} == {}


def test_the_map_names_every_room() -> None:
    """Folders within a room, such as those for each defense, need no line of their own."""
    rooms = {path.parent.relative_to(ROOT) for path in MODULES.values()}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [str(room) for room in rooms if len(room.parts) == 2 and f"`{room.name}/`" not in text] == []
