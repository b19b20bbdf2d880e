"""Hyper-parameters that SACRO-ML finds among the riskiest: regions of the settings of three kinds of models.

Source: structural attack of SACRO-ML 2.0.1, from a study of settings by the success of membership inference
(arXiv 2502.09396). A model is in a region where all of its conditions hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from maxent.disclosure.limits import CHECK_WORDS, Status
from maxent.policy.checks.context import Finding, Matter, unknown

Condition = Callable[[Any], bool | None]  # None: a value that it is not about


def _in(low: float, high: float) -> Condition:
    """Above ``low`` and at most ``high``; no setting is below 0."""
    return lambda value: low < value <= high if _is_number(value) and value >= 0 else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _flag(wanted: bool) -> Condition:
    return lambda value: bool(value) is wanted if isinstance(value, (bool, int)) else None


def _is(wanted: str) -> Condition:
    return lambda value: value == wanted if value in ("best", "random") else None


def _features(wanted: bool) -> Condition:
    """Whether every split sees all columns."""
    return lambda value: (value is None) is wanted if value in (None, "sqrt", "log2") or _is_number(value) else None


_ALL = _features(True)  # of `max_features`
_SMALL, _MIDDLE = _in(-inf, 7.5), _in(7.5, 15)

# Kind of a model -> its regions: name of a setting -> what holds of it.
REGIONS: Mapping[str, Sequence[Mapping[str, Condition]]] = {
    "DecisionTreeClassifier": (
        {"max_depth": _in(7.5, inf), "min_samples_leaf": _SMALL, "min_samples_split": _in(-inf, 15)},
        {
            "splitter": _is("best"),
            "max_depth": _in(7.5, inf),
            "min_samples_leaf": _SMALL,
            "min_samples_split": _in(15, inf),
        },
        {"splitter": _is("best"), "max_depth": _in(7.5, inf), "min_samples_leaf": _MIDDLE, "max_features": _ALL},
        {"splitter": _is("best"), "max_depth": _in(3.5, 7.5), "min_samples_leaf": _SMALL, "max_features": _ALL},
        {"splitter": _is("random"), "max_depth": _in(7.5, inf), "min_samples_leaf": _SMALL, "max_features": _ALL},
    ),
    "RandomForestClassifier": (
        {"max_depth": _in(3.5, inf), "n_estimators": _in(35, inf), "max_features": _features(False)},
        {
            "max_depth": _in(3.5, inf),
            "n_estimators": _in(35, inf),
            "min_samples_split": _in(-inf, 15),
            "max_features": _ALL,
            "bootstrap": _flag(True),
        },
        {
            "max_depth": _in(7.5, inf),
            "n_estimators": _in(15, 35),
            "min_samples_leaf": _in(-inf, 15),
            "bootstrap": _flag(False),
        },
    ),
    "XGBClassifier": (
        {"max_depth": _in(3.5, inf), "n_estimators": _in(3.5, 12.5), "min_child_weight": _in(-inf, 1.5)},
        {"max_depth": _in(3.5, inf), "n_estimators": _in(12.5, inf), "min_child_weight": _in(-inf, 3)},
        {"max_depth": _in(3.5, inf), "n_estimators": _in(62.5, inf), "min_child_weight": _in(3, 6)},
    ),
}

# What a setting of nothing, or of 0, stands for.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "DecisionTreeClassifier": {"max_depth": 500},
    "RandomForestClassifier": {"max_depth": 500},
    "XGBClassifier": {"n_estimators": 100, "max_depth": 6, "min_child_weight": 1.0},
}


def is_risky(stated: Mapping[str, Any]) -> bool | None:
    """Whether settings are among the riskiest; None where that hangs on some that are not stated."""
    kind = str(stated.get("model"))
    if kind not in REGIONS:
        return None
    found = [_holds(region, _settings(stated)) for region in REGIONS[kind]]
    return True if True in found else None if None in found else False


def _settings(stated: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated, with what stands for nothing."""
    defaults = _DEFAULTS[str(stated["model"])]
    return {name: value if value else defaults.get(name, value) for name, value in stated.items()}


def _holds(region: Mapping[str, Condition], settings: Mapping[str, Any]) -> bool | None:
    told = [is_so(settings[name]) for name, is_so in region.items() if name in settings]
    return False if False in told else None if None in told or len(told) < len(region) else True


def unnecessary_risk(of: Matter, limit: bool) -> Finding:
    """Whether a model was trained with settings that are among the riskiest."""
    stated = of.review.converted.hyperparameters
    name, risky = "hyper-parameters", is_risky(stated)
    if risky is None:
        kind = str(stated.get("model", ""))
        if kind in REGIONS:
            named = dict.fromkeys(key for region in REGIONS[kind] for key in region)
            missing, told_of = [key for key in named if key not in stated], _settings(stated)
            pairs = ((key, is_so) for region in REGIONS[kind] for key, is_so in region.items() if key in stated)
            odd = dict.fromkeys(key for key, is_so in pairs if is_so(told_of[key]) is None)
            told = [f"the file does not state {', '.join(missing)}"] * bool(missing)
            told += [f"{key} is {stated[key]!r}, which is no setting" for key in odd]
            return unknown(name, "; ".join(told))
        expected = f"the rules are about {', '.join(REGIONS)} alone"
        return unknown(name, f"{expected}, and this is {kind}" if kind else "the file does not state them")
    kind = stated["model"]
    names = dict.fromkeys(key for region in REGIONS[kind] for key in region)
    listed = ", ".join(f"{key}={stated[key]!r}" for key in names if key in stated)
    status: Status = "fail" if risky else "pass"
    said = "among the riskiest of SACRO-ML" if risky else "not among the riskiest of SACRO-ML"
    return Finding(status, int(risky), f"{name} of {kind} ({listed}) {said}: {CHECK_WORDS[status]}")
