"""What a release's defense states: its method says, that of a third party included."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from maxent.models.defenses import registry as module
from maxent.models.defenses.method import Stated
from maxent.models.defenses.methods import Plain
from maxent.models.defenses.registry import stated
from maxent.models.formats.registry import load_release
from maxent.models.release import Defense

RELEASE = load_release(Path(__file__).parents[2] / "examples/d1/tree.json")


def defended(method, **parameters):
    return replace(RELEASE, defense=Defense(method, parameters))


def test_no_defense_and_one_that_is_not_known_state_nothing():
    assert stated(RELEASE) == stated(defended("of-others", k=5)) == Stated()


@pytest.mark.parametrize(
    ("method", "facts"),
    [
        ("none", Stated()),
        ("prune-leaf", Stated(leaves_at_least=2, removed_below=2)),
        ("prune-parent", Stated(leaves_at_least=2)),
        ("rdt", Stated(left_out_suppressed=True)),
        ("kadet", Stated()),  # the tree is not one of kadet's
        ("erp", Stated()),
    ],
)
def test_methods_state_what_follows_from_them(method, facts):
    assert stated(defended(method, k=2)) == facts


@dataclass(frozen=True)
class Toy(Plain):
    """A method that leaves no leaf of fewer than three records."""

    @classmethod
    def states(cls, release):
        return Stated(leaves_at_least=3)


def test_a_method_of_others_states_facts_of_its_own(monkeypatch):
    monkeypatch.setattr(module, "is_method", lambda name: name == "toy")
    monkeypatch.setattr(module, "load_method", {"toy": Toy}.__getitem__)
    assert stated(defended("toy")) == Stated(leaves_at_least=3)
