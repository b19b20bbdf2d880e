"""Models that LightGBM saved as text: an array a line for each tree, bit sets of categories, and the parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import json_object, read_text
from maxent.models.formats.assemble import packed
from maxent.models.formats.boosting.lightgbm import (
    MISSING_TYPES,
    PARAMETERS,
    GrownLightgbm,
    LightgbmNodes,
    codes_in,
    columns_of,
    converted,
    header,
)
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Branch, Node

_CODES = re.compile(r"-?[0-9]{1,8}(:-?[0-9]{1,8})*")
_PARAMETER = re.compile(r"\[([a-z_0-9]+): ?(.*)\]")
_MOST_WORDS = 2**15  # words of 32 bits of the largest bit set


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    text = read_text(path)
    if re.match(r"tree\nversion=", text) is None:
        raise invalid(source, "line 1", "content", "a model that LightGBM saved as text", "another text")
    start = text.partition("\nTree=")[0]
    body, found, end = text[len(start) :].partition("\nend of trees\n")
    if not found:
        raise invalid(source, "document", "end of trees", "a model that is whole", "nothing")
    about = Lines(source, "document", _keyed(start))
    infos = tuple(_info(about, info) for info in about.text("feature_infos").split())
    version = about.text("version")
    head = header(
        source,
        version,
        about.raw.get("objective", ""),
        about.whole("num_tree_per_iteration"),
        "\naverage_output" in start,
        about.text("feature_names").split(" "),
        infos,
        len(text),
        wanted,
    )
    said = map(_PARAMETER.fullmatch, end.split("\n"))
    parameters = {match[1]: match[2] for match in said if match is not None}
    stated = _stated(parameters.get("categorical_feature", ""))
    maker = LightgbmNodes(head, columns_of(head, _pandas(source, end), stated))
    trees = []
    for number, part in enumerate(body.split("\nTree=")[1:], 1):
        lines = Lines(source, f"tree {number}", _keyed(part))
        rate = lines.floats("shrinkage", 1).tolist() if "shrinkage" in lines.raw else [None]
        trees.append(GrownLightgbm(packed(head.source, _nodes(lines, maker)), rate[0]))
    return converted(head, maker.columns, trees, parameters, f"(model {version})", wanted, reader)


def _keyed(text: str) -> dict[str, str]:
    """Lines with a key and a value."""
    return {key: value for key, sign, value in (line.partition("=") for line in text.split("\n")) if sign}


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines ``key=value`` of a part; what is not as it should be is refused, naming the key."""

    source: str
    where: str
    raw: Mapping[str, str]

    def text(self, key: str) -> str:
        """The value of a key that has to be there."""
        if key not in self.raw:
            raise invalid(self.source, self.where, key, f"a line {key}=", "nothing")
        return self.raw[key]

    def whole(self, key: str) -> int:
        """A whole number, at least 0."""
        text = self.text(key)
        if re.fullmatch(r"[0-9]{1,9}", text) is None:
            raise invalid(self.source, self.where, key, "a whole number", repr(text[:40]))
        return int(text)

    def wholes(self, key: str, size: int | None = None) -> IntArray:
        """Whole numbers, shape (size,)."""
        parts = self._sized(key, size)
        if not all(re.fullmatch(r"-?[0-9]{1,15}", part) for part in parts):
            raise invalid(self.source, self.where, key, "whole numbers", "something else")
        return np.array(parts, np.str_).astype(np.int64) if parts else np.zeros(0, np.int64)

    def floats(self, key: str, size: int, *, finite: bool = True) -> FloatArray:
        """Numbers, shape (size,)."""
        parts = self._sized(key, size)
        try:
            found = np.array([float(part) for part in parts], np.float64)
        except ValueError:
            found = np.array([np.nan])
        if np.isnan(found).any() or (finite and np.isinf(found).any()):
            raise invalid(self.source, self.where, key, "finite numbers", "something else")
        return found

    def _sized(self, key: str, size: int | None) -> list[str]:
        found = self.text(key).split()
        if size is not None and len(found) != size:
            raise invalid(self.source, self.where, key, f"{size} numbers", f"{len(found)}")
        return found


def _info(about: Lines, text: str) -> tuple[int, ...] | None:
    """The codes of a column of categories, () of one without two values, None of numbers."""
    if text.startswith("["):
        return None
    if text == "none":
        return ()
    if _CODES.fullmatch(text) is None:
        raise invalid(about.source, about.where, "feature_infos", "[LEAST:MOST], codes or none", repr(text[:40]))
    return tuple(map(int, text.split(":")))


def _stated(text: str) -> Sequence[int] | None:
    """The columns that the parameters say are categorical."""
    return sorted(set(map(int, text.split(",")))) if re.fullmatch(r"[0-9]{1,8}(,[0-9]{1,8})*", text) else None


def _pandas(source: str, end: str) -> object:
    """The values of pandas' categories, which the last line has as JSON."""
    line = next((line for line in reversed(end.split("\n")) if line.startswith("pandas_categorical:")), None)
    if line is None:
        return None
    return json_object(f'{{"found": {line.partition(":")[2]}}}'.encode(), source).get("found")


def _nodes(tree: Lines, maker: LightgbmNodes) -> Iterator[Node]:
    """The nodes of a tree in depth-first order: S with its number for a split, L for a leaf."""
    n = tree.whole("num_leaves")
    if tree.raw.get("is_linear", "0") != "0":
        raise invalid(tree.source, tree.where, "is_linear", "leaves with one score: train without linear_tree", "1")
    if n < 1:
        raise invalid(tree.source, tree.where, "num_leaves", "at least 1", "0")
    values = tree.floats("leaf_value", n)
    if n == 1:  # no split was found, and not all versions count its records
        count = tree.wholes("leaf_count").tolist()
        yield Node("L0", n=count[0] if len(count) == 1 and count[0] > 0 else None, value=float(values[0]))
        return
    sizes, inner = tree.wholes("leaf_count", n), tree.wholes("internal_count", n - 1)
    hessian = tree.floats("leaf_weight", n).tolist() if "leaf_weight" in tree.raw else [None] * n
    if any(total is not None and total < 0 for total in hessian):
        raise invalid(tree.source, tree.where, "leaf_weight", "numbers that are at least 0", "others")
    tested, kinds = tree.wholes("split_feature", n - 1), tree.wholes("decision_type", n - 1)
    thresholds = tree.floats("threshold", n - 1, finite=False)
    left, right = tree.wholes("left_child", n - 1), tree.wholes("right_child", n - 1)
    sets = _sets(tree)
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if not -n <= at < n - 1 or at in seen:
            raise invalid(tree.source, tree.where, "left_child", "nodes that are each below one other", f"node {at}")
        seen.add(at)
        if at < 0:
            yield Node(_id(at), n=int(sizes[~at]), value=float(values[~at]), hessian=hessian[~at])
            continue
        where, below = f"{tree.where}, split {at}", (_id(int(left[at])), _id(int(right[at])))
        kind, feature, threshold = int(kinds[at]), int(tested[at]), float(thresholds[at])
        if not 0 <= kind < 12:
            raise invalid(tree.source, where, "decision_type", "a number from 0 to 11", f"{kind}")
        branches: tuple[Branch, ...]
        if kind & 1:
            if not (threshold.is_integer() and 0 <= threshold < len(sets)):
                raise invalid(tree.source, where, "threshold", f"one of {len(sets)} sets of categories", f"{threshold}")
            name, branches = maker.categorical(where, feature, below, codes_in(sets[int(threshold)]))
        else:
            name, branches = maker.numeric(where, feature, below, threshold, MISSING_TYPES[kind >> 2], bool(kind & 2))
        yield Node(_id(at), name, branches, n=int(inner[at]))
        stack += [int(right[at]), int(left[at])]


def _id(child: int) -> str:
    """The id of a node: leaves are numbered by the complement."""
    return f"L{~child}" if child < 0 else f"S{child}"


def _sets(tree: Lines) -> list[IntArray]:
    """The bit sets of categories, as words of 32 bits."""
    if not tree.whole("num_cat"):
        return []
    ends, words = tree.wholes("cat_boundaries"), tree.wholes("cat_threshold")
    if (
        len(ends) < 2
        or ends[0] != 0
        or ends[-1] != len(words)
        or not ((np.diff(ends) > 0) & (np.diff(ends) <= _MOST_WORDS)).all()
    ):
        raise invalid(tree.source, tree.where, "cat_boundaries", "where each set ends", "something else")
    if (words < 0).any() or (words >= 2**32).any():
        raise invalid(tree.source, tree.where, "cat_threshold", "words of 32 bits", "others")
    return np.split(words, ends[1:-1])


READER = model_reader(
    "lightgbm-text",
    "a model that LightGBM saved as text",
    (),
    convert,
    lambda head: re.match(r"tree\r?\nversion=v[0-9]+\r?\n", head.text) is not None,
    parameters=PARAMETERS,
)
