"""Learning rate and penalty that the values of CatBoost's leaves were computed with, by the parameters in its files.

With one Newton step for each leaf, the default of the logistic loss, a value is ``-rate G / (H + l2_leaf_reg)`` over
all records: samples are drawn for the choice of splits only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maxent.models.formats.json_values import Values

# Parameters that have to be as they are here, or not there, and what they say otherwise
_PLAIN: Mapping[str, Sequence[tuple[str, object, str]]] = {
    "boosting_options": (
        ("boosting_type", "Plain", "values are of ordered boosting"),
        ("model_shrink_rate", 0, "values were shrunk from tree to tree (model_shrink_rate)"),
        ("langevin", False, "values have noise (langevin)"),
        ("posterior_sampling", False, "values have noise (posterior_sampling)"),
    ),
    "tree_learner_options": (
        ("leaf_estimation_method", "Newton", "values are no Newton steps (leaf_estimation_method)"),
        ("leaf_estimation_iterations", 1, "values are of several steps (leaf_estimation_iterations)"),
        ("monotone_constraints", {}, "values were limited by monotone constraints"),
    ),
    "data_processing_options": (
        ("class_weights", [], "classes have weights"),
        ("auto_class_weights", "None", "classes have weights"),
    ),
}


def training_of(params: Values, loss: str, scale: float) -> tuple[float, float] | str:
    """The learning rate and the L2 penalty, or the reason why values are not those of the formula."""
    if loss != "Logloss":
        return f"the loss is {loss[:40]}"
    if scale != 1:
        return "scores have a scale of their own"
    for group, rules in _PLAIN.items():
        held = params.raw.get(group)
        for key, expected, why in rules:
            if isinstance(held, dict) and held.get(key, expected) != expected:
                return why
    boosting, learner = params.raw.get("boosting_options"), params.raw.get("tree_learner_options")
    if not isinstance(boosting, dict) or not isinstance(learner, dict) or "leaf_estimation_iterations" not in learner:
        return "the file does not state how it was trained"
    rate = Values(params.source, "boosting_options", boosting).number("learning_rate")
    l2 = Values(params.source, "tree_learner_options", learner).number("l2_leaf_reg")
    return (rate, l2) if rate > 0 and l2 >= 0 else "the learning rate, or the penalty, is none"
