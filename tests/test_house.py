"""The layout: imports run one way, in no circle, and every folder says what it holds."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import maxent

ROOT = Path(__file__).parents[1]
# From the lowest: a module imports from its own layer and from those before it.
LAYERS = ("models", "constraints", "solvers", "maxent")


def modules() -> dict[str, Path]:
    """Name under which a module is imported -> its file."""
    found = {}
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.py"):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if layer == "maxent" else ["maxent", *parts])] = path
    return found


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """Modules of ours that a file imports anywhere: at the top, in functions, and for type checking."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "maxent":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "maxent")


ARROWS = {name: set(imported(path)) - {name} for name, path in MODULES.items()}


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


@pytest.mark.parametrize("folder", ["constraints/kinds", "models/defenses", "models/formats", "solvers/backends"])
def test_there_is_room_for_another_of_what_contributors_add(folder: str) -> None:
    """CONTRIBUTING says that it is a module there: so the folder must not be full."""
    assert sum(path.parent == ROOT / folder and path.stem != "__init__" for path in MODULES.values()) < 12


def test_the_map_names_every_room() -> None:
    """Folders within a room, such as those for each defense, need no line of their own."""
    rooms = {path.parent.relative_to(ROOT) for path in MODULES.values()}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [str(room) for room in rooms if len(room.parts) == 2 and f"`{room.name}/`" not in text] == []
