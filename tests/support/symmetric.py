"""Releases with exchangeable classes, and the same releases under other names and in another order."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd

import maxent
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.induction.inducers import id3
from maxent.models.release import Release


def grown(seed: int, classes: int = 4) -> tuple[Release, pd.DataFrame]:
    """A tree of forty people over three attributes of two values, with rates, and who they are."""
    rng = np.random.default_rng(seed)
    names = list("ABC")
    frame = pd.DataFrame({name: rng.integers(0, 2, 40).astype(str) for name in names})
    score = frame[names].astype(int).to_numpy() @ rng.integers(0, 3, 3)
    known, noise = score * (rng.random(40) < 0.6), (rng.random(40) < 0.4) * rng.integers(0, classes, 40)
    frame["X"] = np.array(list("uvwxyz"))[(known + noise) % classes]
    impurity = ("gini", "entropy", "gain_ratio")[seed % 3]
    release = id3(frame, target="X", qi=names, impurity=impurity, publish="rates", min_samples_split=4)  # type: ignore[arg-type]
    return release, frame[names]


def renamed(
    release: Release, people: pd.DataFrame, seed: int
) -> tuple[Release, pd.DataFrame, Callable[[maxent.Estimate], Any]]:
    """The same with other names and in another order, and how to read its posterior as `by_value` does the first one's.

    Classes, attributes and their values are renamed and shuffled, and so are branches, rows and columns.
    """
    rng = np.random.default_rng(seed)
    document = deepcopy(release_to_document(release))

    def shuffled(items: list[Any]) -> list[Any]:
        return [items[i] for i in rng.permutation(len(items))]

    def named(items: list[str], letter: str) -> dict[str, str]:
        return dict(zip(items, [f"{letter}{i}" for i in rng.permutation(len(items))], strict=True))

    classes, attributes = document["target"]["classes"], document["attributes"]
    klass, name = named(classes, "class "), named([a["name"] for a in attributes], "attribute ")
    value = {a["name"]: named(a["values"], "value ") for a in attributes if a["type"] == "categorical"}
    document["target"]["classes"] = shuffled([klass[c] for c in classes])
    for attribute in attributes:
        of = attribute["name"]
        attribute["name"] = name[of]
        if of in value:
            attribute["values"] = shuffled([value[of][v] for v in attribute["values"]])
    document["attributes"] = shuffled(attributes)
    for node in (node for tree in document["trees"] for node in tree["nodes"]):
        if "attribute" in node:
            of = node["attribute"]
            node["attribute"], node["branches"] = name[of], shuffled(node["branches"])
            for branch in node["branches"]:
                if "in" in branch:
                    branch["in"] = [value[of][v] for v in branch["in"]]
        if "label" in node:
            node["label"] = klass[node["label"]]
        if "counts" in node:
            node["counts"] = {klass[c]: n for c, n in node["counts"].items()}
    table = people.assign(**{of: people[of].map(new) for of, new in value.items() if of in people})
    table = table.rename(columns=name).sample(frac=1, random_state=seed)[shuffled([name[c] for c in people.columns])]

    def read(found: maxent.Estimate) -> Any:
        posterior = found.posterior.rename(columns={new: of for of, new in name.items()})
        posterior = posterior.rename(columns={f"P({new})": f"P({of})" for of, new in klass.items()})
        for of, new in value.items():
            posterior[of] = posterior[of].map({v: k for k, v in new.items()})
        return _sorted(posterior, people, classes)

    return parse_release(document, "renamed"), table.reset_index(drop=True), read


def by_value(found: maxent.Estimate, people: pd.DataFrame) -> Any:
    """The posterior with the quasi-identifiers in the order of their values, shape (n_qi, n_classes)."""
    return _sorted(found.posterior, people, found.program.release.target.classes)


def _sorted(posterior: pd.DataFrame, people: pd.DataFrame, classes: Any) -> Any:
    return posterior.sort_values(list(people.columns))[[f"P({c})" for c in classes]].to_numpy()
