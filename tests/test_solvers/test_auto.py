"""The default back end: which programs go to which solver."""

from dataclasses import replace

from support.programs import people, private, public, whole

from maxent.models.induction.inducers import id3
from maxent.solvers.backends import auto
from maxent.solvers.backends.auto import for_ipopt


def several():
    """Two trees about the same people, and these."""
    frame = people()
    options = {"target": "X", "impurity": "entropy", "publish": "rates", "min_samples_split": 15}
    trees = [id3(frame, qi=own, **options) for own in (["A", "B", "C"], ["C", "A"])]
    compared = [replace(tree.trees[0].induction, compared=own) for tree, own in zip(trees, ("ABC", "AC"), strict=True)]
    found = [replace(one.trees[0], induction=known) for one, known in zip(trees, compared, strict=True)]
    return replace(trees[0], trees=tuple(found), predicts="vote"), frame


def test_programs_whose_equations_overlap_go_to_ipopt_unless_they_are_large(monkeypatch):
    one, forest, hidden = (whole(*case)[1].program for case in (public("entropy"), several(), private("entropy")))
    assert not any(program.convex for program in (one, forest, hidden))
    assert [for_ipopt(program) for program in (one, forest, hidden)] == [False, True, True]
    monkeypatch.setattr(auto, "PRIVATE", 1)  # several trees may have more
    assert [for_ipopt(program) for program in (one, forest, hidden)] == [False, True, False]
    monkeypatch.setattr(auto, "SEVERAL", 1)
    assert not for_ipopt(forest)
