"""Figures of the code base: `python tests/support/house.py` writes them into the table of CONTRIBUTING.md.

Modules, packages, lines, circles between packages (imports in functions and for type checking count), parameters, class
names that stand for several things, and how much of it one estimate and one defense need.
"""

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# From the lowest: a module imports from its own layer and from those before it.
LAYERS = ("models", "constraints", "solvers", "maxent")
PAGE = ROOT / "CONTRIBUTING.md"
# Parameters up to which a function is not counted.
MANY = 12
_ENTERED = """
import sys
entered, changes, last = set(), 0, None
def see(frame, event, arg):
    global changes, last
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith("maxent") and frame.f_code.co_name != "<module>":
        entered.add(name)
        changes += name != last
        last = name
sys.argv = ["maxent", "estimate", "examples/d1/tree.json", "examples/d1/qi.csv", "--json"]
from maxent.__main__ import main
sys.setprofile(see)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print("\\n", len(entered), changes)
"""


def modules() -> dict[str, Path]:
    """Name under which a module is imported -> its file."""
    found = {}
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if layer == "maxent" else ["maxent", *parts])] = path
    return found


MODULES = modules()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imported(name: str) -> Iterator[str]:
    """Modules of ours that a module imports anywhere: at the top, in functions, and for type checking."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "maxent":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "maxent")


ARROWS = {name: set(imported(name)) - {name} for name in MODULES}


def room_of(name: str) -> str:
    """The package of a module at depth 2: maxent.api, maxent.constraints.kinds, or the root of one of the folders."""
    parts = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
    if len(parts) <= 1:
        return "maxent"
    return ".".join(parts[:3] if parts[1] in LAYERS else parts[:2])


def circles() -> list[set[str]]:
    """Packages that import each other in a circle, the largest circle first."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, found in ARROWS.items():
        arrows[room_of(name)] |= {room_of(other) for other in found if other != "maxent"} - {room_of(name)}
    after = {room: _reached(arrows, room) for room in set(map(room_of, MODULES))}
    found = {frozenset(other for other in after if other in after[room] and room in after[other]) for room in after}
    return sorted((set(circle) for circle in found if circle), key=len, reverse=True)


def _reached(arrows: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    left = [start]
    while left:
        new = arrows[left.pop()] - seen
        seen |= new
        left += new
    return seen


def _run(code: list[str], folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *code], capture_output=True, text=True, cwd=folder, check=True)


def _loaded() -> int:
    """Modules that `maxent defend prune-parent` loads."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "a.csv").write_text("q,s\n" + "a,x\nb,y\n" * 20, encoding="utf-8")
        call = ["defend", "prune-parent", "a.csv", "--target", "s", "--qi", "q", "--k", "2", "-o", "o.json"]
        told = _run(["-X", "importtime", "-m", "maxent", *call], folder).stderr
    return len(re.findall(r"\| +maxent[.\w]*$", told, re.MULTILINE))


def figures() -> dict[str, int]:
    """What is counted -> the figure today."""
    importers = Counter(other for found in ARROWS.values() for other in found if other in MODULES)
    functions = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    names = Counter(node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    in_circles = circles()
    entered, changes = map(int, _run(["-c", _ENTERED]).stdout.split()[-2:])
    return {
        "modules": len(MODULES),
        "packages": len({path.parent for path in MODULES.values()}),
        "lines of package code": sum(_lines(path) for path in MODULES.values()),
        "packages (depth 2) in circles": sum(map(len, in_circles)),
        "packages in the largest circle": len(in_circles[0]) if in_circles else 0,
        "modules with one importer": sum(count == 1 for count in importers.values()),
        "modules that `estimate` enters on `examples/d1`": entered,
        "changes of module there": changes,
        "our modules that `defend prune-parent` loads": _loaded(),
        "functions with more than 12 parameters": sum(_parameters(each) > MANY for each in functions),
        "class names used more than once": sum(count > 1 for count in names.values()),
        "lines of tests": sum(_lines(path) for path in (ROOT / "tests").rglob("*.py")),
        "words of docs": sum(len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "docs").rglob("*.md")),
    }


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _parameters(function: ast.FunctionDef) -> int:
    return len(function.args.posonlyargs) + len(function.args.args) + len(function.args.kwonlyargs)


def table() -> dict[str, list[str]]:
    """The rows of the table in CONTRIBUTING.md: what is counted -> its cells."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if "|" in line]
    return {cells[0]: cells[1:] for cells in rows if len(cells) == 5 and cells[1][:1].isdigit()}


def main() -> None:
    """Write the figures of today into the last column but one."""
    text = PAGE.read_text(encoding="utf-8")
    for what, figure in figures().items():
        then, before, asked, _ = table()[what]
        row = f"| {what} | {then} | {before} | {asked} | "
        text = re.sub(re.escape(row) + r"[\d,]+", f"{row}{figure:,}", text)
        print(f"{figure:>9,}  {what}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
