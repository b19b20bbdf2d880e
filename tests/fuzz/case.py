"""A case: files, and a call of the program in the folder that they are in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Case:
    """Files by their names, and the arguments of a call.

    Attributes
    ----------
    files : mapping
        Name -> content. Names may have folders in them.
    arguments : tuple of str
        What follows ``maxent``.
    python : callable, optional
        What is called in place of the command line.
    as_json : bool
        Whether the call asks for JSON.
    secret : str
        What nothing that is printed may have in it; empty for nothing.
    """

    files: Mapping[str, bytes]
    arguments: tuple[str, ...] = ()
    python: Callable[[], Any] | None = None
    as_json: bool = False
    secret: str = ""


class Dice(Random):
    """Chance that falls the same everywhere for the same seed, a text."""

    def chance(self, share: float) -> bool:
        return self.random() < share
