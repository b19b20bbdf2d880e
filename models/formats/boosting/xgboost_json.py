"""Models that XGBoost saved as JSON (1.0 to 3.x), trees of scores with a default direction at each node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite, log
from os import PathLike

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_json_object, uncollected
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.json_values import Values
from maxent.models.formats.release_reader import model_reader
from maxent.models.formats.training_columns import read_training
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Link, Node, Tree
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.trees.thresholds import single_less_than

_LINKS: Mapping[str, Link] = {
    "binary:logistic": "logit",
    "binary:logitraw": "none",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
}
"""What the scores of an objective become."""

PARAMETERS = ("rate", "lambda")
"""The names of what the caller may give: the learning rate and the L2 penalty."""

_LOST = (
    "counts, sizes and labels of leaves: XGBoost stores scores, and sums of hessians, which are no numbers of records",
    "which splits competed",
)


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    return converted(shown_path(path), read_json_object(path), wanted, reader)


def converted(source: str, content: Mapping[str, object], wanted: Wanted, reader: Reader) -> Converted:
    """Convert the document of a model, in whichever notation its file has it.

    Raises
    ------
    InvalidInput
        For what is no such model, or no classifier.
    """
    document = Values(source, "document", content)
    learner = document.child("learner")
    objective = learner.child("objective").text("name")
    link = _LINKS.get(objective)
    if link is None:
        expected = f"a classifier: one of {', '.join(_LINKS)}"
        raise invalid(source, "learner, objective", "name", expected, repr(objective))
    params = learner.child("learner_model_param")
    n_classes = 2 if objective.startswith("binary") else params.whole("num_class", 2)
    classes = _classes(wanted, n_classes)
    booster, weights = _booster(learner)
    columns = _columns(learner, booster, params.whole("num_feature"), wanted)
    group = booster.wholes("tree_info")
    trees = []
    raws = booster.items("trees")
    if not raws or len(raws) != len(group):
        raise invalid(
            source, booster.where, "trees", "a tree for each of tree_info, at least one", f"{len(raws)} trees"
        )
    for number, raw in enumerate(booster.children("trees")):
        if not 0 <= group[number] < (1 if n_classes == 2 and link != "softmax" else n_classes):
            booster.refuse("tree_info", f"classes from 0 to {n_classes - 1}")
        of = classes[int(group[number])] if link == "softmax" else classes[1]
        weight = 1.0 if weights is None else weights[number]
        trees.append(Tree(_nodes(raw, columns), weight=weight, of_class=of))
    problems: list[Problem] = []
    rate, l2 = wanted.number("rate", problems), wanted.number("lambda", problems)
    if problems:
        raise InvalidInput("options", problems)
    boosting = Boosting(link, rate, l2, _base(params, link, classes))
    release = assemble(
        source,
        trees,
        classes,
        wanted,
        read_training(wanted, reader),
        known={column.name: column for column in columns},
        predicts="score",
        boosting=boosting,
    )
    unknown = [name for name, value in (("learning rate", rate), ("L2 penalty", l2)) if value is None]
    lost = [*_LOST, *(f"the {name}, which --param gives" for name in unknown)]
    if wanted.classes is None:
        lost.append("the names of the classes, which --classes gives")
    version = ".".join(map(str, document.wholes("version").tolist())) if "version" in document.raw else ""
    return Converted(release, f"XGBoost {version}".strip(), tuple(lost))


def _classes(wanted: Wanted, n: int) -> tuple[str, ...]:
    """The names of the classes, which XGBoost numbers."""
    if wanted.classes is None:
        return tuple(map(str, range(n)))
    if len(wanted.classes) != n:
        raise invalid(
            "options", "argument", "classes", f"{n} names, as the model has classes", str(len(wanted.classes))
        )
    return wanted.classes


def _booster(learner: Values) -> tuple[Values, Sequence[float] | None]:
    """The trees, and their weights where some were dropped (DART)."""
    booster = learner.child("gradient_booster")
    name = booster.text("name")
    if name == "dart":
        model = booster.child("gbtree").child("model")
        return model, booster.floats("weight_drop", len(model.items("trees"))).tolist()
    if name != "gbtree":
        booster.refuse("name", "gbtree or dart, which have trees")
    return booster.child("model"), None


def _columns(learner: Values, model: Values, n: int, wanted: Wanted) -> tuple[Attribute, ...]:
    """The columns of the input: names, and the categories of those that have some."""
    names = wanted.features or learner.texts("feature_names") or tuple(f"f{i}" for i in range(n))
    if len(names) != n or len(set(names)) < n:
        raise invalid(learner.source, learner.where, "feature_names", f"{n} different names", f"{len(set(names))}")
    types = learner.texts("feature_types") or ("float",) * n
    if len(types) != n:
        learner.refuse("feature_types", f"{n} types")
    encoded = list(model.child("cats").children("enc")) if "cats" in model.raw else []
    largest = _largest_codes(model, n)
    columns = []
    for i, (name, kind) in enumerate(zip(names, types, strict=True)):
        if kind not in {"c", "categorical"} and largest[i] < 0:
            columns.append(Attribute(name, "numeric", missing=True))
            continue
        found = _categories(encoded[i]) if i < len(encoded) else ()
        values = found or tuple(map(str, range(largest[i] + 1)))
        if largest[i] >= len(values) or len(set(values)) < len(values) or MISSING in values:
            raise invalid(
                model.source, f"column {name}", "cats", "a different name for each category", f"{len(values)}"
            )
        columns.append(Attribute(name, "categorical", (*values, MISSING)))
    return tuple(columns)


def _largest_codes(model: Values, n: int) -> list[int]:
    """The largest code of a category that some split on each column names, -1 for none."""
    found = [-1] * n
    for raw in model.children("trees"):
        if raw.raw.get("categories_nodes"):
            indices = raw.wholes("split_indices")
            for node, codes in _listed(raw).items():
                if 0 <= node < len(indices) and 0 <= indices[node] < n and len(codes):
                    found[indices[node]] = max(found[indices[node]], int(codes.max()))
    return found


def _categories(encoded: Values) -> tuple[str, ...]:
    """The names of categories: UTF-8 bytes with offsets, or numbers."""
    if not encoded.raw.get("values"):
        return ()
    values = encoded.wholes("values")
    if "offsets" not in encoded.raw:
        return tuple(map(str, values.tolist()))
    ends = encoded.wholes("offsets")
    if len(ends) < 2 or ends[0] != 0 or (np.diff(ends) <= 0).any() or ends[-1] != len(values):
        encoded.refuse("offsets", "where each name ends")
    if values.min() < -128 or values.max() > 255:
        encoded.refuse("values", "bytes of UTF-8")
    content = bytes((values % 256).tolist())
    try:
        return tuple(content[a:b].decode("utf-8") for a, b in zip(ends.tolist(), ends.tolist()[1:], strict=False))
    except UnicodeDecodeError:
        encoded.refuse("values", "bytes of UTF-8")


def _listed(tree: Values) -> dict[int, IntArray]:
    """The codes of categories that go right, by node."""
    if not tree.raw.get("categories_nodes"):
        return {}
    nodes = tree.wholes("categories_nodes")
    starts, sizes = tree.wholes("categories_segments", len(nodes)), tree.wholes("categories_sizes", len(nodes))
    codes = tree.wholes("categories")
    if (starts < 0).any() or (sizes < 0).any() or (starts + sizes > len(codes)).any() or (codes < 0).any():
        tree.refuse("categories_segments", "parts of categories")
    if len(codes) and codes.max() >= 2**20:
        tree.refuse("categories", "codes below 1048576")
    return {
        node: codes[start : start + size]
        for node, start, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    }


def _nodes(tree: Values, columns: Sequence[Attribute]) -> tuple[Node, ...]:
    """The nodes that the root reaches, in depth-first order."""
    left = tree.wholes("left_children")
    n = len(left)
    right, tested = tree.wholes("right_children", n), tree.wholes("split_indices", n)
    values, default = tree.floats("split_conditions", n), tree.wholes("default_left", n)
    kinds = tree.wholes("split_type", n) if "split_type" in tree.raw else np.zeros(n, np.int64)
    if tree.child("tree_param").raw.get("size_leaf_vector", "0") not in ("0", "1", 0, 1):
        tree.refuse("tree_param", "leaves with one score: train with multi_strategy='one_output_per_tree'")
    if (np.abs(values) > float(np.finfo(np.float32).max)).any():
        tree.refuse("split_conditions", "numbers of single precision")
    listed = _listed(tree)
    nodes: list[Node] = []
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if not 0 <= at < n or at in seen:
            raise invalid(tree.source, tree.where, "left_children", "nodes that are each below one other", f"{at}")
        seen.add(at)
        if left[at] < 0:
            nodes.append(Node(str(at), value=float(np.float32(values[at]))))
            continue
        if not 0 <= tested[at] < len(columns):
            tree.refuse("split_indices", f"columns from 0 to {len(columns) - 1}")
        below = (str(int(left[at])), str(int(right[at])))
        column, to_left = columns[int(tested[at])], bool(default[at])
        if (kinds[at] == 1) != (column.values is not None):
            tree.refuse("split_type", f"splits of {column.name} that are all of numbers, or all of categories")
        if column.values is None:
            branches = _numeric(tree, float(values[at]), below, to_left)
        else:
            branches = _categorical(column.values, listed.get(at, np.zeros(0, np.int64)), below, to_left)
        nodes.append(Node(str(at), column.name, branches))
        stack += [int(right[at]), int(left[at])]
    return tuple(nodes)


def _numeric(tree: Values, condition: float, below: tuple[str, str], to_left: bool) -> tuple[Branch, ...]:
    """Below the condition, compared in single precision, to the left."""
    most = single_less_than(float(np.float32(condition)))
    if not isfinite(most):
        tree.refuse("split_conditions", "numbers that some value is below")
    return (
        Branch(below[0], le=most, missing=True if to_left else None),
        Branch(below[1], gt=most, missing=None if to_left else True),
    )


def _categorical(values: Sequence[str], codes: IntArray, below: tuple[str, str], to_left: bool) -> tuple[Branch, ...]:
    """The categories that a split names to the right, others to the left."""
    chosen = {values[code] for code in codes.tolist() if code < len(values) - 1}
    right = [value for value in values[:-1] if value in chosen]
    left = [value for value in values[:-1] if value not in chosen]
    (left if to_left else right).append(MISSING)
    sides = zip(below, (left, right), strict=True)
    return tuple(Branch(child, values=tuple(side)) for child, side in sides)


def _base(params: Values, link: Link, classes: Sequence[str]) -> float | dict[str, float]:
    """The scores before the first tree: 5E-1, or since 3.0 a list of one or of one for each class."""
    text = params.text("base_score")
    try:
        found = [float(part) for part in text.strip("[]").split(",")]
    except ValueError:
        found = []
    if not found or not all(map(isfinite, found)) or len(found) not in (1, len(classes)):
        params.refuse("base_score", "a number, or one for each class")
    if link == "logit":
        if len(found) > 1 or not 0 < found[0] < 1:
            params.refuse("base_score", "a probability")
        return log(found[0] / (1 - found[0]))
    return found[0] if len(found) == 1 else dict(zip(classes, found, strict=True))


READER = model_reader(
    "xgboost-json",
    "a model that XGBoost saved as JSON",
    (),
    convert,
    lambda head: (
        re.match(r'\{\s*"learner"\s*:\s*\{\s*"(attributes|feature_names|gradient_booster)"', head.text) is not None
    ),
    parameters=PARAMETERS,
)
