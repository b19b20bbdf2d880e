"""Values that are refused: hints, in bounded time."""

import pandas as pd
import pytest

import maxent
from maxent.models import reading
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables import cells


def test_a_refused_value_is_cleaned_once_however_many_are_known(monkeypatch):
    """A cell may be megabytes long, and a domain has thousands of values."""
    domain = tuple(f"v{i}" for i in range(300))
    leaves = [Node("A", counts={"x": 1, "y": 0}), Node("B", counts={"x": 0, "y": 1})]
    branches = (Branch("A", values=domain[:1]), Branch("B", values=domain[1:]))
    release = Release(
        Target("T", ("x", "y")), (Attribute("c", values=domain),), (Tree((Node("N", "c", branches), *leaves)),)
    )
    long, seen = "long" * 100, []

    def counted(text):
        seen.append(text)
        return reading.cleaned(text)

    monkeypatch.setattr(cells, "cleaned", counted)
    with pytest.raises(maxent.InvalidInput, match="c: expected one of"):
        maxent.audit(release, pd.DataFrame({"c": ["v0", long]}))
    assert seen.count(long) == 1
    assert seen.count("v299") <= 2  # with the domain, and as an own value
