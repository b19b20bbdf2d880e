"""Models of PMML as trees that predict together: a tree, votes, means, or a sum with a regression at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maxent.models.arguments import shorten
from maxent.models.formats.pmml.inputs import Scope
from maxent.models.formats.pmml.xml_document import Element, number_in
from maxent.models.release import Boosting, Predicts

# Elements that are models
MODELS = (
    *("TreeModel", "MiningModel", "RegressionModel", "AnomalyDetectionModel", "AssociationModel", "BaselineModel"),
    *("BayesianNetworkModel", "ClusteringModel", "GaussianProcessModel", "GeneralRegressionModel", "NaiveBayesModel"),
    *(
        "NearestNeighborModel",
        "NeuralNetwork",
        "RuleSetModel",
        "Scorecard",
        "SequenceModel",
        "SupportVectorMachineModel",
    ),
    *("TextModel", "TimeSeriesModel"),
)

_MEANS = {"average": False, "weightedAverage": True}
_VOTES = {"majorityVote": False, "weightedMajorityVote": True}
_SUMS = {"sum": False, "weightedSum": True, **_MEANS}
CATBOOST = "CatBoost"
_DEEPEST = 20  # functions within each other in an output


@dataclass(frozen=True, slots=True, eq=False)
class PmmlMember:
    """A tree of a model, its fields, its weight, and the class whose score it adds to."""

    model: Element
    scope: Scope
    weight: float = 1.0
    of_class: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PmmlEnsemble:
    """Trees, how they predict, and the classes that their rule names."""

    members: tuple[PmmlMember, ...]
    predicts: Predicts
    boosting: Boosting | None = None
    classes: tuple[str, ...] = ()


def read_ensemble(model: Element, scope: Scope, application: str) -> PmmlEnsemble:
    """The trees of the outermost model."""
    if model.get("functionName") != "classification":
        expected = "classification, with a class at every leaf (of a regression: bin the target)"
        model.refuse("functionName", expected)
    if model.get("isScorable") == "false":
        model.refuse("isScorable", "a model that can be used")
    if model.name == "TreeModel":
        return PmmlEnsemble((PmmlMember(model, scope.within(model)),), "label")
    if model.name != "MiningModel":
        model.refuse("content", "a TreeModel, or a MiningModel of trees", model.name)
    inner = scope.within(model)
    segmentation = _segmentation(model)
    method = segmentation.need("multipleModelMethod")
    if method == "modelChain":
        _untouched(model)
        return _chain(segmentation, inner, application)
    if method in _VOTES:
        return PmmlEnsemble(tuple(_flat(segmentation, inner, _VOTES)), "vote")
    if method in _MEANS:
        members = tuple(_flat(segmentation, inner, _MEANS))
        return PmmlEnsemble(members, "mean")
    known = ", ".join([*_VOTES, *_MEANS, "modelChain"])
    segmentation.refuse("multipleModelMethod", f"{known}: other ensembles do not predict by all of their trees")


def _segmentation(model: Element) -> Element:
    if model.first("Regression", "DecisionTree") is not None:
        model.refuse("content", "segments with models, not models within nodes")
    return model.one("Segmentation")


def _segments(segmentation: Element, weighted: bool) -> list[tuple[Element, float]]:
    """The models of segments, and their weights."""
    found = []
    for segment in segmentation.all("Segment"):
        if segment.first("True") is None:
            segment.refuse("predicate", "True: every record goes to every segment", "another one")
        weight = segment.number("weight", 1.0) if weighted else 1.0
        if weight < 0:
            segment.refuse("weight", "a number, at least 0")
        found.append((segment.one(*MODELS), weight))
    if not found or sum(weight for _, weight in found) <= 0:
        segmentation.refuse("Segment", "one at least, with a weight above 0", str(len(found)))
    return found


def _flat(
    segmentation: Element, scope: Scope, methods: Mapping[str, bool], weight: float = 1.0
) -> Iterator[PmmlMember]:
    """The trees of classes of segments; means of means are means with other weights."""
    method = segmentation.need("multipleModelMethod")
    found = _segments(segmentation, methods[method])
    total = sum(each for _, each in found)
    for model, its in found:
        if model.get("functionName") != "classification":
            model.refuse("functionName", "classification, as the model's")
        share = weight * its / total
        if (
            model.name == "MiningModel"
            and _segmentation(model).get("multipleModelMethod") in _MEANS
            and methods is _MEANS
        ):
            yield from _flat(_segmentation(model), scope.within(model), methods, share)
        elif model.name == "TreeModel":
            yield PmmlMember(model, scope.within(model), share)
        else:
            model.refuse("content", "a TreeModel", model.name)


@dataclass(frozen=True, slots=True, eq=False)
class _Score:
    """A sum of trees and a number."""

    members: tuple[PmmlMember, ...]
    base: float

    def times(self, factor: float, of_class: str | None) -> _Score:
        members = tuple(replace(m, weight=m.weight * factor, of_class=of_class) for m in self.members)
        return _Score(members, self.base * factor)


def _score(model: Element, scope: Scope) -> _Score:
    """The sum that a model of numbers is."""
    if model.get("functionName") != "regression":
        model.refuse("functionName", "regression, of a model whose score goes on to another")
    inner = scope.within(model)
    if model.name == "TreeModel":
        found = _Score((PmmlMember(model, inner),), 0.0)
    elif model.name == "MiningModel":
        segmentation = _segmentation(model)
        method = segmentation.choice("multipleModelMethod", tuple(_SUMS), "")
        if not method:
            segmentation.refuse("multipleModelMethod", f"one of {', '.join(_SUMS)}")
        segments = _segments(segmentation, _SUMS[method])
        total = sum(weight for _, weight in segments) if method in _MEANS else 1.0
        members: list[PmmlMember] = []
        base = 0.0
        for each, weight in segments:
            part = _score(each, inner).times(weight / total, None)
            members += part.members
            base += part.base
        found = _Score(tuple(members), base)
    else:
        model.refuse("content", "a TreeModel, or a MiningModel of trees", model.name)
    return _rescaled(found, model)


def _rescaled(score: _Score, model: Element) -> _Score:
    """A score with what Targets does to it."""
    targets = model.first("Targets")
    for target in () if targets is None else targets.all("Target"):
        for key in ("min", "max", "castInteger"):
            if target.get(key) is not None:
                target.refuse(key, "nothing: scores of trees are sums")
        scaled = score.times(target.number("rescaleFactor", 1.0), None)
        score = _Score(scaled.members, scaled.base + target.number("rescaleConstant", 0.0))
    return score


def _untouched(model: Element) -> None:
    """Refuse a model whose outcome is changed afterwards."""
    targets = model.first("Targets")
    for target in () if targets is None else targets.all("Target"):
        if target.number("rescaleFactor", 1.0) != 1 or target.number("rescaleConstant", 0.0) != 0:
            target.refuse("rescaleConstant", "nothing at the end of a chain")


def _chain(segmentation: Element, scope: Scope, application: str) -> PmmlEnsemble:
    """Scores of trees, and the model at the end that makes classes of them."""
    models = [model for model, _ in _segments(segmentation, weighted=False)]
    scores: dict[str, _Score] = {}
    for model in models[:-1]:
        score = _score(model, scope)
        for name, (factor, constant) in _outputs(model).items():
            part = score.times(factor, None)
            scores[name] = _Score(part.members, part.base + constant)
    last = models[-1]
    if last.name == "RegressionModel" and last.get("functionName") == "classification":
        return _regression(last, scores)
    if last.name == "TreeModel" and len(scores) == 1:
        return _sign(last, *next(iter(scores.items())), logit=application.startswith(CATBOOST))
    last.refuse("content", "a RegressionModel of the scores of trees at the end of a chain", last.name)


def _outputs(model: Element) -> dict[str, tuple[float, float]]:
    """The outputs of a score: the factor and the constant that make each of it."""
    output = model.first("Output")
    found: dict[str, tuple[float, float]] = {}
    for each in () if output is None else output.all("OutputField"):
        feature = each.get("feature") or "predictedValue"
        if feature == "predictedValue" and not each.children:
            found[each.need("name")] = (1.0, 0.0)
        elif feature == "transformedValue" and len(each.children) == 1:
            found[each.need("name")] = _linear(each.children[0], found, 0)
        else:
            each.refuse("feature", "a score, or a factor of it and a constant", feature)
    if not found:
        model.refuse("Output", "a field with the score", "none")
    return found


def _linear(element: Element, scores: Mapping[str, tuple[float, float]], depth: int) -> tuple[float, float]:
    """A sum of a multiple of a score and a constant: both factors."""
    if element.name == "FieldRef" and (known := scores.get(element.need("field"))) is not None:
        return known
    if element.name == "Constant" and (number := number_in(element.text)) is not None:
        return 0.0, number
    if element.name == "Apply" and len(element.children) == 2 and depth < _DEEPEST:
        (a, b), (c, d) = (_linear(child, scores, depth + 1) for child in element.children)
        name = element.need("function")
        if name in ("+", "-"):
            sign = 1.0 if name == "+" else -1.0
            return a + sign * c, b + sign * d
        if name == "*" and 0 in (a, c):
            return a * d + b * c, b * d
        if name == "/" and c == 0 and d != 0:
            return a / d, b / d
    element.refuse("content", "sums and multiples of a score", element.name)


def _regression(last: Element, scores: Mapping[str, _Score]) -> PmmlEnsemble:
    """Scores of classes, each a sum of scores of trees."""
    tables = list(last.all("RegressionTable"))
    names = [table.need("targetCategory") for table in tables]
    if len(tables) < 2 or len(set(names)) < len(names):
        last.refuse("RegressionTable", "one for each of two classes or more", str(len(tables)))
    found = [_table(table, scores, name) for table, name in zip(tables, names, strict=True)]
    method = last.choice("normalizationMethod", ("softmax", "logit", "none"), "none")
    classes = tuple(names)
    if method == "logit" and len(tables) == 2:
        if found[1].members:
            last.refuse("normalizationMethod", "a score of one of two classes", "two scores")
        return PmmlEnsemble(found[0].members, "score", Boosting("logit", base=found[0].base), (names[1], names[0]))
    if method == "logit":
        last.refuse("normalizationMethod", "softmax or none of more than two classes")
    members = tuple(member for score in found for member in score.members)
    base = {name: score.base for name, score in zip(names, found, strict=True)}
    return PmmlEnsemble(members, "score", Boosting("softmax" if method == "softmax" else "none", base=base), classes)


def _table(table: Element, scores: Mapping[str, _Score], name: str) -> _Score:
    """The score of one class."""
    members: list[PmmlMember] = []
    base = table.number("intercept", 0.0)
    for predictor in table.children:
        score = scores.get(predictor.get("name") or "")
        if predictor.name != "NumericPredictor" or score is None or predictor.number("exponent", 1.0) != 1:
            predictor.refuse("name", "the score of trees before it", shorten(predictor.get("name") or predictor.name))
        part = score.times(predictor.number("coefficient"), name)
        members += part.members
        base += part.base
    return _Score(tuple(members), base)


def _sign(last: Element, name: str, score: _Score, *, logit: bool) -> PmmlEnsemble:
    """One of two classes where a score is above 0."""
    leaves = list(last.one("Node").all("Node"))
    tests = [leaf.first("SimplePredicate") for leaf in leaves]
    classes = [leaf.need("score") for leaf in leaves]
    first = tests[0] if tests else None
    right = len(leaves) == 2 and first is not None and leaves[1].first("True") is not None
    if not right or first is None or (first.get("field"), first.get("operator")) != (name, "greaterThan"):
        last.refuse("Node", f"two leaves, the first where {shorten(name)} is above 0", f"{len(leaves)} nodes")
    above = score.times(1.0, classes[0])
    link = Boosting("logit" if logit else "none", base=above.base - first.number("value"))
    if not logit and len(set(classes)) != 2:
        last.refuse("Node", "two classes", "one")
    return PmmlEnsemble(above.members, "score", link, (classes[1], classes[0]))


def trees_in(members: Sequence[PmmlMember]) -> int:
    """How many elements are nodes of trees."""
    found, stack = 0, [member.model.one("Node") for member in members]
    while stack:
        element = stack.pop()
        found += 1
        stack += element.all("Node")
    return found
