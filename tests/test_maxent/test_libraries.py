"""Whose class follows from the file of a model of any library is never passed over."""

from collections import Counter
from importlib import import_module

import pytest
from support.libraries import drawn, judged, model, refitted, small
from support.search import cases

FIRST = 40
TURNS = range(5)
QUICK = 1  # the turn that is no slow test, in which some pass
EACH = 20  # Models of a turn: a hundred in all, and a thousand in a round of a hunt


def test_the_libraries_are_there() -> None:
    """Tests of them would be skipped, and nobody would see it: pip install -e '.[dev]' brings them."""
    for name in ("catboost", "lightgbm", "skops", "xgboost"):
        import_module(name)


@pytest.mark.search
@pytest.mark.parametrize("turn", [pytest.param(i, marks=[pytest.mark.slow] if i != QUICK else []) for i in TURNS])
@pytest.mark.promise(number=6)
def test_no_model_is_passed_that_tells_a_class(turn: int) -> None:
    """Of somebody in a leaf of one class alone, or of one in all trees where not everything is read."""
    said: Counter[str] = Counter()
    passed = []
    for seed in cases(FIRST + EACH * turn, EACH, hunted=10 * EACH):
        found = model(seed)
        verdict = judged(found)
        said[verdict.status] += 1
        if verdict.status == "pass" and verdict.told:
            passed.append(f"{seed}: {found.name}: {verdict.told}")
    total = said.total()
    print(", ".join(f"{name} {said[name] / total:.0%}" for name in ("pass", "fail", "cannot_tell")), f"of {total}")
    assert not passed
    assert said.keys() <= {"pass", "fail", "cannot_tell"}, "no model is refused"
    assert said["fail"]
    assert turn != QUICK or said["pass"], "what is read and proves nobody passes"


@pytest.mark.search
@pytest.mark.slow
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.promise(number=6)
def test_no_model_is_passed_of_which_all_labellings_agree_about_somebody(turn: int) -> None:
    """Which splits were chosen tells classes, too: models of few people are grown again of all their labellings."""
    said: Counter[str] = Counter()
    passed = []
    for seed in cases(EACH * turn, EACH, hunted=10 * EACH):
        found = small(seed)
        verdict = refitted(found)
        said[verdict.status] += 1
        if verdict.told:
            passed.append(f"{seed}: {found.name}: {verdict.told}")
    total = said.total()
    print(", ".join(f"{name} {said[name] / total:.0%}" for name in ("pass", "fail", "cannot_tell")), f"of {total}")
    assert not passed
    assert turn or said["pass"], "some are passed, and tried"


def test_every_kind_has_its_turn() -> None:
    names = {type(drawn(seed).model).__name__ for seed in range(FIRST, FIRST + EACH * len(TURNS))}
    assert names >= {
        "DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier",
        "BaggingClassifier", "AdaBoostClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier",
        "XGBClassifier", "LGBMClassifier", "CatBoostClassifier",
    }  # fmt: skip
