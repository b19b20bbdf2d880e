"""Growing a tree to publish: multiway ID3 over categorical attributes, and how a grown tree states its counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from maxent.models.errors import InvalidInput, Problem
from maxent.models.frames import shorten
from maxent.models.release import Attribute, Branch, Impurity, Induction, Node, Release, Target, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame, Series

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

Publish = Literal["labels", "rates", "counts"]

# Impurities and gain ratios that differ by less are one and the same number, summed in another order.
_TIE = 1e-12


@dataclass(slots=True)
class Draft:
    """A grown node before it has an id; a list of them is a tree in depth-first order.

    ``counts`` has shape (n_classes,), records; ``label`` is an index into the classes. The branches of an inner
    node are without a child until `freeze`; ``children`` are their positions in the list.
    """

    counts: IntArray
    label: int
    attribute: str | None = None
    branches: tuple[Branch, ...] = ()
    children: list[int] = field(default_factory=list)


def freeze(
    drafts: Sequence[Draft], classes: Sequence[str], publish: Publish = "counts", *, inner_counts: bool = False
) -> tuple[Node, ...]:
    """Nodes of a release from a grown tree: N1, N2... and L1, L2... in the order of ``drafts``.

    Parameters
    ----------
    drafts : sequence of Draft
        The tree in depth-first order, root first.
    classes : sequence of str
        The classes in the order of `Draft.counts`.
    publish : {"labels", "rates", "counts"}
        What leaves state: the label; label, error rate (exactly (n - n_label) / n, left out when n is 0) and n;
        or label, n and counts.
    inner_counts : bool
        Whether inner nodes state n and counts.
    """
    ids: list[str] = []
    leaves = 0
    for draft in drafts:
        leaves += draft.attribute is None
        ids.append(f"L{leaves}" if draft.attribute is None else f"N{len(ids) + 1 - leaves}")

    def node(draft: Draft, node_id: str) -> Node:
        n = int(draft.counts.sum())
        by_class = dict(zip(classes, draft.counts.tolist(), strict=True))
        if draft.attribute is not None:
            branches = tuple(replace(b, child=ids[c]) for b, c in zip(draft.branches, draft.children, strict=True))
            if not inner_counts:
                return Node(node_id, draft.attribute, branches)
            return Node(node_id, draft.attribute, branches, n=n, counts=by_class)
        label = classes[draft.label]
        if publish == "labels":
            return Node(node_id, label=label)
        if publish == "counts":
            return Node(node_id, label=label, n=n, counts=by_class)
        return Node(node_id, label=label, error_rate=(n - by_class[label]) / n if n else None, n=n)

    return tuple(node(draft, node_id) for draft, node_id in zip(drafts, ids, strict=True))


def id3(
    data: DataFrame,
    *,
    target: str,
    qi: Sequence[str],
    private: Sequence[str] = (),
    impurity: Impurity = "entropy",
    min_samples_split: int = 2,
    max_depth: int | None = None,
    publish: Publish = "counts",
    inner_counts: bool = False,
    domains: Mapping[str, Sequence[str]] | None = None,
) -> Release:
    """Grow a multiway ID3 tree [1]_ over categorical attributes and publish it.

    A node is split by the attribute, among those not yet used on its path, with the smallest expected impurity
    (``gain_ratio`` [2]_: the largest gain / split information, where an attribute with one value in the node does not
    compete). Ties go to the first in the order ``qi``, ``private``. A node stays a leaf when it has fewer than
    ``min_samples_split`` records, is pure, is ``max_depth`` splits below the root, or gains at most 1e-12. Values of
    the domain that do not occur in a node share one empty leaf (n = 0, the label of the node's own majority).

    Parameters
    ----------
    data : DataFrame
        One row per record. Attributes hold strings, booleans or categoricals; a target may hold integers too.
        Everything is published as ``str(value)``. Other columns are ignored.
    target : str
        The column of the class.
    qi, private : sequence of str
        The attributes an adversary has in their table, and those they have not.
    impurity : {"entropy", "gini", "gain_ratio"}
        Entropies are in nats.
    min_samples_split : int
        Records, at least 1.
    max_depth : int, optional
        Splits between the root and the deepest leaf, at least 0.
    publish, inner_counts
        What the nodes state, see `freeze`.
    domains : mapping of column to values, optional
        Values of an attribute, or classes, in the order to publish them; they may hold more than occur. Others are
        what occurs, sorted as strings. The label of a tied leaf is the first of its classes.

    Raises
    ------
    InvalidInput
        Naming every unsuitable column and argument.

    References
    ----------
    .. [1] Quinlan, "Induction of decision trees", Machine Learning 1, 1986.
    .. [2] Quinlan, *C4.5: Programs for Machine Learning*, 1993.
    """
    problems = list(_argument_problems(target, qi, private, impurity, publish, min_samples_split, max_depth))
    if problems:
        raise InvalidInput("id3", problems)
    names = [*qi, *private]
    problems = list(_column_problems(data, target, names, domains or {}))
    if problems:
        raise InvalidInput("id3", problems)

    encoded = {name: _encode(data[name], (domains or {}).get(name)) for name in [*names, target]}
    y, classes = encoded.pop(target)
    drafts = _grow(encoded, y, len(classes), impurity, min_samples_split, max_depth)
    return Release(
        target=Target(target, classes),
        attributes=tuple(
            Attribute(name, "categorical", encoded[name][1], "public" if name in qi else "private") for name in names
        ),
        trees=(
            Tree(freeze(drafts, classes, publish, inner_counts=inner_counts), Induction("id3", impurity, "unused")),
        ),
    )


def _grow(
    columns: Mapping[str, tuple[IntArray, tuple[str, ...]]],
    y: IntArray,
    n_classes: int,
    impurity: Impurity,
    min_samples_split: int,
    max_depth: int | None,
) -> list[Draft]:
    """The tree in depth-first order, from each attribute's codes, shape (n_records,), and domain."""
    names, depth_limit = list(columns), len(columns) if max_depth is None else max_depth
    drafts: list[Draft] = []
    # A node to come: its records (None: the empty leaf), parent's position, and the attributes left, by position.
    stack: list[tuple[IntArray | None, int, list[int]]] = [(np.arange(len(y)), -1, list(range(len(names))))]
    while stack:
        rows, parent, unused = stack.pop()
        if parent >= 0:
            drafts[parent].children.append(len(drafts))
        if rows is None:
            drafts.append(Draft(np.zeros(n_classes, np.int64), drafts[parent].label))
            continue
        here = y[rows]
        counts = np.bincount(here, minlength=n_classes)
        draft = Draft(counts, int(counts.argmax()))
        position = len(drafts)
        drafts.append(draft)
        depth = len(names) - len(unused)
        if len(rows) < min_samples_split or depth >= depth_limit or np.count_nonzero(counts) < 2:
            continue
        sizes = [len(columns[names[a]][1]) for a in unused]
        tables = [
            np.bincount(columns[names[a]][0][rows] * n_classes + here, minlength=size * n_classes).reshape(size, -1)
            for a, size in zip(unused, sizes, strict=True)
        ]
        best = _best(tables, counts, impurity)
        if best is None:
            continue
        draft.attribute = names[unused[best]]
        codes, values = columns[draft.attribute]
        present = tables[best].sum(axis=1)
        by_value = rows[np.argsort(codes[rows], kind="stable")]
        parts: list[IntArray | None] = [p for p in np.split(by_value, np.cumsum(present)[:-1]) if len(p)]
        draft.branches = tuple(Branch(None, (values[v],)) for v in np.flatnonzero(present))
        if absent := tuple(values[v] for v in np.flatnonzero(present == 0)):
            draft.branches += (Branch(None, absent),)
            parts.append(None)
        rest = unused[:best] + unused[best + 1 :]
        stack.extend((part, position, rest) for part in reversed(parts))
    return drafts


def _best(tables: Sequence[IntArray], counts: IntArray, impurity: Impurity) -> int | None:
    """Which of the tables (values x classes, of one node) splits best; None when none gains."""
    n = counts.sum()
    if impurity == "gini":
        before = 1 - (counts / n) @ (counts / n)
        after = np.array([1 - (t**2 / np.maximum(t.sum(axis=1), 1)[:, None]).sum() / n for t in tables])
    else:
        before = (_xlogx(n) - _xlogx(counts).sum()) / n
        weights = np.array([_xlogx(t.sum(axis=1)).sum() for t in tables])
        after = (weights - np.array([_xlogx(t).sum() for t in tables])) / n
    gains = before - after
    scores = gains
    if impurity == "gain_ratio":
        spread = (_xlogx(n) - weights) / n
        competes = np.array([np.count_nonzero(t.sum(axis=1)) > 1 for t in tables], dtype=bool)
        scores = np.divide(gains, spread, out=np.full(len(tables), -np.inf), where=competes)
    if not len(tables) or scores.max() == -np.inf:
        return None
    best = int(np.argmax(scores >= scores.max() - _TIE))
    return best if gains[best] > _TIE else None


def _xlogx(counts: IntArray) -> FloatArray:
    """Values of x ln x of whole numbers, 0 at 0."""
    return np.asarray(counts * np.log(np.maximum(counts, 1)))


def _encode(column: Series, order: Sequence[str] | None) -> tuple[IntArray, tuple[str, ...]]:
    """Codes, shape (n_records,), and the domain they index."""
    codes, names = _factorize(column)
    values = tuple(sorted(set(names))) if order is None else tuple(map(str, order))
    index = {value: i for i, value in enumerate(values)}
    return np.array([index[name] for name in names], dtype=np.int64)[codes], values


def _factorize(column: Series) -> tuple[IntArray, list[str]]:
    """Codes by first appearance (-1: missing) and each code's value as a string; strings may repeat (1 and "1")."""
    import pandas as pd

    codes, uniques = pd.factorize(column)
    return np.asarray(codes, dtype=np.int64), [str(value) for value in uniques]


def _argument_problems(
    target: str,
    qi: Sequence[str],
    private: Sequence[str],
    impurity: str,
    publish: str,
    min_samples_split: int,
    max_depth: int | None,
) -> Iterator[Problem]:
    for name, value, known in (
        ("impurity", impurity, get_args(Impurity)),
        ("publish", publish, get_args(Publish)),
    ):
        if value not in known:
            yield Problem("argument", name, f"one of {', '.join(known)}", shorten(value))
    if not _is_whole(min_samples_split) or min_samples_split < 1:
        yield Problem(
            "argument", "min_samples_split", "a whole number of records, at least 1", shorten(min_samples_split)
        )
    if max_depth is not None and (not _is_whole(max_depth) or max_depth < 0):
        yield Problem("argument", "max_depth", "None or a whole number, at least 0", shorten(max_depth))
    names: list[str] = []
    for name, columns in (("qi", qi), ("private", private)):
        if isinstance(columns, str):
            yield Problem("argument", name, f"a list of columns, such as [{columns!r}]", shorten(columns))
        else:
            names.extend(columns)
    if not isinstance(qi, str) and not len(qi):
        yield Problem("argument", "qi", "at least one column", "none")
    for name in [*names, target]:
        if not isinstance(name, str):
            yield Problem("argument", "target, qi and private", "names of columns", shorten(name))
    if target in names:
        yield Problem("argument", "target", "a column that is not among qi and private", shorten(target))
    for repeated in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield Problem(
            "argument", "qi and private", "each column once", f"{shorten(repeated)} {names.count(repeated)} times"
        )


def _column_problems(
    data: DataFrame, target: str, names: Sequence[str], domains: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    import pandas as pd

    if not isinstance(data, pd.DataFrame):
        yield Problem("argument", "data", "a pandas DataFrame", type(data).__name__)
        return
    if data.empty:
        yield Problem("argument", "data", "at least one record", f"{data.shape[0]} rows, {data.shape[1]} columns")
        return
    for name in domains:
        if name not in names and name != target:
            yield Problem("argument", "domains", "only columns of target, qi and private", shorten(name))
    for name in [*names, target]:
        where = f"column {shorten(name)}"
        occurrences = int((data.columns == name).sum())
        if occurrences != 1:
            known = shorten(", ".join(map(str, data.columns)))
            expected = f"a column of the data ({known})" if not occurrences else "one column of that name"
            yield Problem(where, "name", expected, "none" if not occurrences else str(occurrences))
        else:
            yield from _value_problems(data[name], where, domains.get(name), is_target=name == target)


def _value_problems(column: Series, where: str, domain: Sequence[str] | None, *, is_target: bool) -> Iterator[Problem]:
    from pandas.api import types

    dtype = column.dtype
    numeric = types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype)
    if types.is_datetime64_any_dtype(dtype) or (numeric and not (is_target and types.is_integer_dtype(dtype))):
        advice = "categories: bin it (pandas.cut), or astype(str) when its numbers are only names"
        yield Problem(where, "dtype", advice, str(dtype))
        return
    try:
        codes, names = _factorize(column)
    except TypeError:  # lists and the like have no hash
        yield Problem(where, "values", "strings, numbers or booleans", shorten(column.iloc[0]))
        return
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        expected = 'no missing values: give them a name, such as fillna("missing"), or drop the rows'
        yield Problem(where, "values", expected, f"{len(missing)} missing, the first in row {missing[0] + 1}")
    if domain is None:
        return
    if isinstance(domain, str):
        yield Problem(where, "domains", "a list of values", shorten(domain))
        return
    values = [str(value) for value in domain]
    if len(set(values)) < len(values):
        yield Problem(where, "domains", "each value once", shorten(next(v for v in values if values.count(v) > 1)))
    if outside := sorted(set(names) - set(values)):
        yield Problem(where, "domains", "every value that occurs", f"without {shorten(', '.join(outside))}")


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
