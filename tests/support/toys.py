"""Back ends of a third party that misbehave, registered as pip would: a package with entry points."""

MODULE = '''
"""Back ends that solve nothing."""

import os
import time

import numpy as np

from maxent.models.errors import invalid
from maxent.solvers.workers import solve_apart
from maxent.solvers.solution import Solution, Stop


class Toy:
    def __init__(self):
        self.name = type(self).__name__.lower()

    def refuses(self, program):
        return None

    def version(self):
        return "0.7"


class Picky(Toy):
    def refuses(self, program):
        return "programs with variables"

    def solve(self, program, start, options):
        raise AssertionError("refused, and asked all the same")


class Faulty(Toy):
    """Says that everything is solved where it started, in which every mass is wrong."""

    def solve(self, program, start, options):
        return Solution(np.full(program.n, 0.5), Stop.CONVERGED, 0.0, 1)


class Broken(Toy):
    """Takes 300 MB and raises an error of two lines."""

    def solve(self, program, start, options):
        self.held = np.ones(300 * 2**17)
        raise ArithmeticError("a division\\n by zero")


class Misled(Toy):
    """Takes its own failure for the user's."""

    def solve(self, program, start, options):
        raise invalid("toy", "here", "there", "this", "that")


class Crashing(Toy):
    def solve(self, program, start, options):
        os.write(2, b"first\\nabout to crash\\n")
        os.abort()


class Ended(Toy):
    """Has a process of its own, which crashes."""

    def solve(self, program, start, options):
        return solve_apart(self, program, start, options, print)

    def solve_here(self, program, start, options, tell):
        os.abort()


class Leaving(Toy):
    def solve(self, program, start, options):
        os._exit(0)


class Stuck(Toy):
    """Does not look at the clock."""

    def solve(self, program, start, options):
        print("solver output that nobody wants")
        with open(os.environ["TOY_PID"], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)


class Unversioned(Faulty):
    def version(self):
        raise OSError("no such executable")
'''

NAMES = ("picky", "faulty", "broken", "misled", "crashing", "ended", "leaving", "stuck", "unversioned")


def install(folder):
    """Put the package into a folder, which has to be on the path."""
    entries = {name: f"toy_backends:{name.capitalize()}" for name in NAMES} | {"absent": "toy_absent:Absent"}
    install_package(folder, "toy_backends", MODULE, entries)
    (folder / "toy_absent.py").write_text("import a_solver_that_is_not_there\n", encoding="utf-8")


def install_package(folder, name, module, entries, group="maxent.backends"):
    """A package of one module with entry points, as pip would leave it."""
    (folder / f"{name}.py").write_text(module, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{key} = {value}" for key, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]), encoding="utf-8")
