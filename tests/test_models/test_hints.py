"""Hints at what was meant: as good as difflib's, for a bounded amount of work."""

import difflib
import random
import string

import pandas as pd
import pytest

from maxent.models import hints
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.qi_table import read_qi

COUNTRIES = ["Canada", "Cuba", "England", "Germany", "Greece", "Haiti", "Ireland", "Italy", "Jamaica", "Mexico"] * 3


@pytest.mark.parametrize(
    ("text", "known", "meant"),
    [
        ("Mastrs", ["Masters", "Doctorate"], "Masters"),
        ("DOCTORATE", ["Masters", "Doctorate"], "Doctorate"),
        ("yse", ["no", "yes"], "yes"),
        ("Grece", [f"{name}{i // 10 or ''}" for i, name in enumerate(COUNTRIES)], "Greece"),
        ("xyz", ["Masters", "Doctorate"], None),
        ("", ["a", "b"], None),
        ("a", [], None),
        ("x" * 10_000, ["x" * 9_999 + "y", "y"], "x" * 9_999 + "y"),
    ],
)
def test_what_is_probably_meant(text, known, meant):
    assert hints.closest(text, known) == meant


def test_one_typing_error_is_found_among_many_names():
    """Whatever difflib finds among all names for a name with one letter changed is found among the candidates."""
    rng = random.Random(1)
    names = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 12))) for _ in range(400)]
    for name in names[:60]:
        at = rng.randrange(len(name))
        wrong = f"{name[:at]}{rng.choice(string.ascii_lowercase)}{name[at + 1 :]}"
        (best,) = difflib.get_close_matches(wrong, names, n=1) or [None]
        found = hints.closest(wrong, names)
        assert found in (best, name)


@pytest.mark.regression(number=15)
def test_unknown_values_cost_little_however_many_they_are(monkeypatch):
    """20 columns of long values that no domain has: only the first problems are compared, each with a few names."""
    compared = []

    def counting(text, names, **options):
        compared.append((len(text), len(names), max(map(len, names))))
        return difflib.get_close_matches(text, names, **options)

    monkeypatch.setattr(hints, "get_close_matches", counting)
    rng = random.Random(0)

    def word():
        return "".join(rng.choices("abcdefghij", k=100))

    names = [f"q{i}" for i in range(20)]
    domain = tuple(word() for _ in range(1000))
    release = Release(Target("t", ("a", "b")), tuple(Attribute(name, values=domain) for name in names), ())
    people = pd.DataFrame({name: [word() for _ in range(50)] for name in names})
    with pytest.raises(InvalidInput) as refused:
        read_qi(people, release)
    assert len(refused.value.problems) == 20 * 11
    assert 10 <= len(compared) <= hints.HINTED
    assert all(text <= 60 and n <= 8 and longest <= 60 for text, n, longest in compared)


def test_missing_columns_cost_little_however_many_they_are(monkeypatch):
    asked = []
    monkeypatch.setattr("maxent.models.tables.frame.closest", lambda name, header: asked.append(name))
    release = Release(Target("t", ("a", "b")), tuple(Attribute(f"x{i}", "numeric") for i in range(300)), ())
    with pytest.raises(InvalidInput) as refused:
        read_qi(pd.DataFrame({"x0": [1], **{f"y{i}": [1] for i in range(300)}}), release)
    assert len(refused.value.problems) == 299
    assert len(asked) == hints.HINTED
