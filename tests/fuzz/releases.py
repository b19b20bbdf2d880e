"""Releases with something wrong in them: keys, numbers, texts, nodes and what they state, and bytes."""

import copy
from typing import Any

from fuzz.case import Case, Dice
from fuzz.mutations import FOREIGN, MARK, as_json, changed, damaged, odd
from fuzz.tables import as_csv
from fuzz.worlds import World, world

COMMANDS = (
    ("audit", "tree.json"),
    ("audit", "tree.json", "qi.csv"),
    ("audit", "tree.json", "qi.csv", "--risk"),
    ("audit", "tree.json", "qi.csv", "-o", "out.csv"),
    ("predict", "tree.json", "qi.csv"),
    ("predict", "tree.json", "truth.csv", "-o", "out.csv"),
    ("explain", "tree.json", "qi.csv"),
    ("explain", "tree.json", "qi.csv", "--latex"),
    ("explain", "tree.json", "qi.csv", "-o", "out.parquet"),
    ("estimate", "tree.json", "qi.csv"),
    ("estimate", "tree.json", "qi.csv", "-o", "out.csv"),
    ("estimate", "tree.json", "qi.csv", "--truth", "truth.csv", "--max-certain", "0", "--enforce"),
    ("estimate", "tree.json", "qi.csv", "--text", "strip", "-o", "out.json"),
    ("compare", "before.json", "tree.json", "qi.csv", "--max-posterior", "0.9"),
)


def case(number: int) -> Case:
    """A case by its number."""
    dice = Dice(f"releases {number}")
    found = world(dice)
    secret = ""
    kind = dice.randrange(20)
    if kind < 11:
        document = found.document
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            document = changed(document, dice) if dice.chance(0.5) else _retold(document, dice)
        tree = as_json(document)
    elif kind < 14:
        tree = as_json(found.document)
    elif kind < 19:
        tree = damaged(as_json(found.document), dice, dice.choice([1, 1, 2, 5]))
    else:
        tree, secret = dice.choice(FOREIGN).encode(), MARK
    call = dice.choice(COMMANDS)
    if call[0] in ("estimate", "compare"):
        call = (*call, "--time-limit", "2")
    told = dice.chance(0.5) and "--latex" not in call
    call = (*call, "--json") if told else call
    return Case({"tree.json": tree, **beside(found)}, call, as_json=told, secret=secret)


def beside(found: World) -> dict[str, bytes]:
    """The files that go with a release, as they should be."""
    return {"before.json": as_json(found.document), "qi.csv": as_csv(found.qi), "truth.csv": as_csv(found.truth)}


def _retold(document: Any, dice: Dice) -> Any:
    """A release with a change that only makes sense in one, of any part that is as it should be."""
    document = copy.deepcopy(document)
    try:
        dice.choice(RETOLD)(document, dice)
    except (LookupError, TypeError, AttributeError, ValueError):  # it was changed before: there is no such part
        return changed(document, dice)
    return document


def _nodes(document: Any, dice: Dice) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = dice.choice(document["trees"])["nodes"]
    return nodes


def _leaf(document: Any, dice: Dice) -> dict[str, Any]:
    return dice.choice([node for node in _nodes(document, dice) if "branches" not in node])


def _branch(document: Any, dice: Dice) -> dict[str, Any]:
    branches: list[dict[str, Any]] = [b for node in _nodes(document, dice) for b in node.get("branches", ())]
    return dice.choice(branches)


def _point_elsewhere(document: Any, dice: Dice) -> None:
    """A branch to an ancestor, to another's child, to itself, to nothing, or to a leaf that was removed."""
    ids = [node["id"] for node in _nodes(document, dice)]
    _branch(document, dice)["child"] = dice.choice([*ids, *ids, None, "nowhere"])


def _same_id(document: Any, dice: Dice) -> None:
    nodes = _nodes(document, dice)
    dice.choice(nodes)["id"] = dice.choice(nodes)["id"]


def _count(document: Any, dice: Dice) -> None:
    leaf = _leaf(document, dice)
    classes = document["target"]["classes"]
    named = dice.sample(classes, dice.randint(0, len(classes)))
    counts = {name: dice.choice([0, 1, 2, 5, 2**53, 10**18]) for name in named}
    leaf["counts"] = counts if dice.chance(0.7) else {**counts, dice.choice(["nobody", "", classes[0] + " "]): 1}


def _size(document: Any, dice: Dice) -> None:
    dice.choice(_nodes(document, dice))["n"] = dice.choice([0, 1, 3, 7, 11, 2**53, 2**53 + 1, -1, 1.0])


def _rate(document: Any, dice: Dice) -> None:
    leaf = _leaf(document, dice)
    leaf["error_rate"] = dice.choice([0, 0.0, 1, 1.0, 0.5, 0.333, 1e-300, 1 - 1e-16, 0.1 + 0.2, 1.0000001, -0.0])
    if dice.chance(0.5):
        leaf["label"] = dice.choice(document["target"]["classes"])


def _inner(document: Any, dice: Dice) -> None:
    """Statements of a leaf on a node that is none."""
    states = {"n": 3, "counts": {}, "label": "x", "error_rate": 0.5, "attribute": "T", "branches": []}
    key = dice.choice(sorted(states))
    dice.choice(_nodes(document, dice))[key] = states[key]


def _cut(document: Any, dice: Dice) -> None:
    branch = _branch(document, dice)
    branch[dice.choice(["le", "gt"])] = dice.choice([0, 37.5, 24.5, -1e308, 1e308, 5e-324, 37.50000000000001])


def _values(document: Any, dice: Dice) -> None:
    branch = _branch(document, dice)
    branch["in"] = dice.choice([branch["in"] * 2, [], branch["in"] + ["p", "Masters"], branch["in"][:-1]])


def _domain(document: Any, dice: Dice) -> None:
    """Attributes that are others', private, or have values that are almost alike."""
    attribute = dice.choice(document["attributes"])
    kind = dice.randrange(5)
    if kind == 0:
        attribute["role"] = dice.choice(["private", "public", "secret"])
    elif kind == 1:
        taken = [document["target"]["name"], document["attributes"][0]["name"]]
        attribute["name"] = dice.choice([*taken, "count", "P(no)"])
    elif kind == 2:
        attribute["type"] = dice.choice(["numeric", "categorical", "number"])
    else:
        value = dice.choice(attribute["values"])
        attribute["values"].append(dice.choice([value + " ", value.upper(), value, "e\u0301", "NA", "01", "new"]))


def _classes(document: Any, dice: Dice) -> None:
    classes = document["target"]["classes"]
    name = dice.choice(classes)
    kind = dice.randrange(3)
    if kind == 0:
        classes.append(dice.choice([name, name + " ", name.upper(), "new", "", "NA"]))
    elif kind == 1:
        classes.remove(name)
    else:
        classes += [f"c{i}" for i in range(dice.choice([3, 60, 1_000]))]


def _published(document: Any, dice: Dice) -> None:
    key = dice.choice(["sampling_rate", "suppressed_below", "defense", "resampled", "draws"])
    trees, n = len(document["trees"]), dice.choice([1, 7, 11, 2**31, 10**18])
    drawn = dice.choice([n, *[sum(node["counts"].values()) for node in _nodes(document, dice) if "counts" in node]])
    whole = {"n": n, "drawn": drawn, "replace": dice.chance(0.8)}
    seeded = {"generator": dice.choice(["scikit-learn-forest", "scikit-learn-bagging"]), "seeds": [2**31] * trees}
    value = {
        "resampled": [drawn, 11, 0, -1],
        "draws": [
            {**whole, **seeded},
            {**whole, **seeded, "features": dice.choice([{"n": 3, "drawn": 2}, {"n": 1}, 3])},
            {**whole, "seeds": [-1]},
            {**whole, "counts": [[drawn, *([0] * (min(n, 20) - 1))]] * trees},
            {**whole, "counts": [["x"], 3]},
        ],
        "sampling_rate": [1, 0.5, 1e-300, 0, 1.1, 0.999999999999],
        "suppressed_below": [0, 1, 2, 100, 2**53, -1, 1.5],
        "defense": [{"method": "rdt", "beta": 0.1}, {"method": "prune-leaf", "k": 5}, {"method": ""}, {"k": 2}],
    }[key]
    document.setdefault("release", {})[key] = dice.choice(value)


def _induction(document: Any, dice: Dice) -> None:
    values = {
        "algorithm": ["id3", "c45", "cart", "kadet", "rdt", "other", ""],
        "impurity": ["gini", "entropy", "gain_ratio", None, "none"],
        "candidates": ["unused", "thresholds", "mixed", "none"],
        "min_samples_leaf": [1, 2, 100, 2**53, 0],
        "k": [1, 2, 50, 0],
        "encoding": ["ordinal", "onehot", "hash"],
        "compared": [[a["name"] for a in document["attributes"]], [], ["nothing"], [document["target"]["name"]]],
    }
    induction = dice.choice(document["trees"]).setdefault("induction", {})
    for key in dice.sample(sorted(values), dice.randint(1, 3)):
        induction[key] = dice.choice(values[key])


def _answers(document: Any, dice: Dice) -> None:
    """How trees predict together, and what leaves add."""
    links = ["logit", "softmax", "share", "none", "probit"]
    boosting = {"link": dice.choice(links), "base": dice.choice([0, -1e308, {}, "x"])}
    values = {
        "predicts": ["label", "vote", "mean", "score", "sum"],
        "boosting": [
            boosting,
            {**boosting, "rate": 0, "lambda": -1},
            {**boosting, "base": 0.5},
            {**boosting, "weights": dice.choice([{}, {"x": -1}, 3])},
            {},
        ],
        "labels": ["majority", "decided", None],
    }
    for key in dice.sample(sorted(values), dice.randint(1, 3)):
        document[key] = dice.choice(values[key])
    tree = dice.choice(document["trees"])
    tree["class"] = dice.choice([*document["target"]["classes"], "", 3])
    tree["weight"] = dice.choice([0, 1, 2.5, -1, 1e308])
    for node in tree["nodes"]:
        if "branches" not in node and dice.chance(0.8):
            node["value"] = dice.choice([0.5, -1e308, 1e308, 0, {document["target"]["classes"][0]: 1}])


def _shares(document: Any, dice: Dice) -> None:
    classes = document["target"]["classes"]
    shares = [{classes[0]: 1}, {classes[-1]: 0.333, classes[0]: 0.667}, {}, {classes[0]: 0.5}, {"nobody": 1}]
    dice.choice(_nodes(document, dice))["rates"] = dice.choice(shares)


def _gaps(document: Any, dice: Dice) -> None:
    """Missing values of an attribute, or of a branch, or other values."""
    attribute = dice.choice(document["attributes"])
    kind = dice.randrange(4)
    if kind == 0:
        attribute["missing"] = dice.choice([True, False, "yes"])
    elif kind == 1:
        attribute["values"].append(dice.choice(["(missing)", "(other)"]))
    elif kind == 2:
        _branch(document, dice)["missing"] = dice.choice([True, False, 1])
    else:
        for each in document["attributes"]:
            if each["type"] == "numeric":
                each["missing"] = True
        for node in _nodes(document, dice):
            below = node.get("branches", [])
            if below and "in" not in below[0]:
                dice.choice(below)["missing"] = True


def _another_tree(document: Any, dice: Dice) -> None:
    document["trees"].append(copy.deepcopy(dice.choice(document["trees"])) if dice.chance(0.7) else odd(dice))


def _order(document: Any, dice: Dice) -> None:
    dice.shuffle(_nodes(document, dice))


RETOLD = (
    *(_point_elsewhere, _point_elsewhere, _same_id, _count, _count, _size, _size, _rate, _rate, _inner, _cut, _values),
    *(_answers, _answers, _shares, _shares, _gaps, _gaps),
    *(_domain, _domain, _classes, _published, _induction, _induction, _another_tree, _order),
)
