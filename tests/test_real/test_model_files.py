"""Every file of the collection of real models: read, so that it predicts and counts as its tool does, or refused.

A new reader needs no word here: it is found by the registry. ``python tests/test_real/test_model_files.py`` writes the
table of model_files.md anew.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maxent.models.errors import MaxentError
from maxent.models.formats.proof import counts_in_leaves, read_training
from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader
from maxent.models.trees.predict import places_of, predict, predict_proba, read_columns, states_shares

FOLDER = Path(os.environ.get("MAXENT_DATA", "/nonexistent")) / "models"
PAGE = Path(__file__).with_name("model_files.md")
BEGIN, END = "<!-- files -->\n", "<!-- /files -->"
# Items whose models have no names of columns: they are told those of the table, in its order.
NUMBERED = {"treelite_rf_wine", "xgb17_iris"}

# Files with one tree of several: what they predict is not what the model does.
PART = re.compile(r"tree(_?[0-9].*)\.(txt|dot|csv)|tree_.*0\.dot")

ROUNDING = 1e-6  # By how much probabilities may differ: many tools compute them in single precision

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the models of MAXENT_DATA")


def items() -> list[str]:
    """The folders with a model."""
    return sorted(path.parent.name for path in FOLDER.glob("*/meta.json")) if FOLDER.is_dir() else []


@cache
def meta(item: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / item / "meta.json").read_text(encoding="utf-8"))
    return found


def files(item: str) -> list[str]:
    """The files, and folders, of a model."""
    return sorted(name.rstrip("/") for name in meta(item)["files"] if (FOLDER / item / name).exists())


@dataclass(frozen=True)
class Tried:
    """What became of a file: a model, or the reason why there is none."""

    found: Converted | None
    reason: str = ""

    def row(self, item: str, file: str) -> str:
        if self.found is None:
            return f"| `{item}/{file}` | | refused: {cell(self.reason)} |"
        states = [name for name, there in self.found.states.items() if there]
        exact = "" if self.found.exact else "; thresholds rounded"
        return f"| `{item}/{file}` | `{self.found.format}` | {', '.join(states)}{exact} |"


def cell(text: str) -> str:
    """A text on one line of a table, whose signs mean nothing to Markdown."""
    return re.sub(r"([\\`*_<|\[\]$])", r"\\\1", " ".join((text if len(text) <= 160 else text[:157] + "...").split()))


@cache
def tried(item: str, file: str) -> Tried:
    """Convert a file with what its meta.json says."""
    try:
        return Tried(convert_model(FOLDER / item / file, wanted(item), Reader()))
    except MaxentError as error:
        problem = getattr(error, "problems", (None,))[0]
        if problem is None:
            return Tried(None, str(error))
        if "which format= can name" in problem.expected:
            return Tried(None, problem.found)
        return Tried(None, f"expected {problem.expected}, found {problem.found}")


def wanted(item: str) -> Wanted:
    said = meta(item)
    features = tuple(str(feature["name"]) for feature in said["features"])
    return Wanted(
        target=said["target"],
        classes=tuple(map(str, said["classes"])) if "classes" in said else None,
        features=features if item in NUMBERED else None,
        train=FOLDER / item / "train.csv",
    )


@pytest.mark.parametrize("item", items())
def test_a_file_is_read_as_its_tool_does_or_refused_with_the_reason(item: str) -> None:
    for file in files(item):
        found = tried(item, file).found
        if found is None:
            assert tried(item, file).reason
            continue
        if found.release.statements:  # the table was counted again when they were read
            assert found.release.statements[0].document["statements"][0]["rules"][0]["n"]
        elif PART.fullmatch(file) is None:
            assert_predicts_as_the_tool(item, file, found)
        assert_counts_are_those_of_the_table(item, found)


def assert_predicts_as_the_tool(item: str, file: str, found: Converted) -> None:
    table = pd.read_csv(FOLDER / item / "predictions.csv", dtype=str, keep_default_na=False, na_values=[""])
    rows = table[[feature["name"] for feature in meta(item)["features"]]]
    known = table["_predicted"].notna()  # Id3 leaves rows without a class
    assert (predict(found.release, rows) == table["_predicted"])[known].all(), file
    shares = [f"_P({c})" for c in found.release.target.classes]
    if set(shares) <= {*table.columns} and states_shares(found.release) and found.release.labels != "decided":
        printed = table.loc[known, shares]
        atol = max(ROUNDING, 0.51 * 10.0 ** -printed.map(lambda text: len(text.partition(".")[2])).max().max())
        reached = states_every_leaf(found, rows)[known]
        found_shares = predict_proba(found.release, rows)[known]
        np.testing.assert_allclose(found_shares[reached], printed.astype(float)[reached], atol=atol, err_msg=file)


def states_every_leaf(found: Converted, rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each row reaches leaves that state the shares of classes: one without records states none."""
    attributes, columns, n = read_columns(found.release, rows)
    stated = np.ones(n, bool)
    for tree, place in zip(found.release.trees, places_of(found.release, attributes, columns, n), strict=True):
        stated &= np.array([node.n != 0 for node in tree.nodes])[place]
    return stated


def assert_counts_are_those_of_the_table(item: str, found: Converted) -> None:
    if not found.states["counts"] or found.release.sampled:
        return
    training = read_training(wanted(item), Reader())
    assert training is not None
    for tree, counts in zip(found.release.trees, counts_in_leaves(found.release, training), strict=True):
        for node, here in zip(tree.nodes, counts.tolist(), strict=True):
            if node.is_leaf and node.counts is not None:
                assert [node.counts[c] for c in found.release.target.classes] == here


def rows() -> Iterator[str]:
    yield "| file | `--from` | what leaves state |"
    yield "| --- | --- | --- |"
    for item in items():
        yield from (tried(item, file).row(item, file) for file in files(item))


def page() -> str:
    """The page with the table as it has to be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + "\n".join(rows()) + "\n" + END + rest.partition(END)[2]


def test_the_page_says_what_became_of_every_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/test_real/test_model_files.py writes the table"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit()
