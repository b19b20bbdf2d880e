"""Random people, trees grown from them by small inducers of the tests' own, and what is published of those trees.

Everything here is written without `maxent.constraints`, so that the truth it knows can judge what is compiled.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from maxent.models.release import ROUNDING_METHODS, Attribute, Branch, Induction, Node, Release, Rounded, Target, Tree

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Draw = Callable[[Any], Any]
Cut = tuple[int, ...] | tuple[float, float]  # codes of a categorical branch; (gt, le] of a numeric one

# Values of numeric attributes; two lie closer than scikit-learn can see.
NUMBERS = (-1.5, 0.0, 0.5, 0.5 + 1e-9, 2.0, 3.25)

SURE = 1 - 1e-9  # Confidence at which the interval of a sampled count practically never misses

TIE = 1e-12


EXAMPLES = "MAXENT_EXAMPLES"
FEW = 10  # Examples of a property that are never saved


def thorough(n: int) -> settings:
    """Settings for ``n`` examples, or as many times more as MAXENT_EXAMPLES says.

    By default a fifth, but for the first `FEW`: ``make hunt`` runs all of them.
    """
    times = int(os.environ.get(EXAMPLES, "0"))
    return settings(
        max_examples=n * times or max(min(n, FEW), n // 5),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@dataclass(frozen=True, eq=False)
class People:
    """Individuals: per attribute codes (categorical) or numbers, shape (n,), and codes of their classes."""

    attributes: tuple[Attribute, ...]
    columns: dict[str, npt.NDArray[Any]]
    y: IntArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"People of\n{self.frame.to_string()}"

    def attribute(self, name: str) -> Attribute:
        return next(a for a in self.attributes if a.name == name)

    def counts(self, rows: IntArray) -> IntArray:
        """Individuals per class among some rows."""
        return np.bincount(self.y[rows], minlength=len(self.classes))

    @cached_property
    def frame(self) -> Any:
        """Every attribute and the target Y, as a DataFrame of strings and numbers."""
        columns: dict[str, Any] = {}
        for a in self.attributes:
            codes = self.columns[a.name]
            columns[a.name] = codes if a.values is None else np.array(a.values, object)[codes]
        return pd.DataFrame({**columns, "Y": np.array(self.classes, object)[self.y]})

    @property
    def qi(self) -> Any:
        """The adversary's table."""
        return self.frame[[a.name for a in self.attributes if a.role == "public"]]


@dataclass(frozen=True, eq=False)
class Case:
    """People, what was published about them, and how: ``digits`` that rates were rounded to (None: not at all)."""

    people: People
    release: Release
    digits: int | None = None

    @property
    def roundings(self) -> tuple[Any, ...]:
        """The ways of reading the rates that are right for how they were printed."""
        return ("exact", "auto", "digits") if self.digits is None else ("digits", "auto")


@st.composite
def populations(
    draw: Draw,
    *,
    rows: tuple[int, int] = (2, 40),
    public: tuple[int, int] = (1, 4),
    private: tuple[int, int] = (0, 2),
    classes: tuple[int, int] = (1, 4),
    numeric: bool = True,
) -> People:
    """A few individuals, many of them alike; domains may hold values that nobody has, in no particular order."""
    n, n_classes = draw(st.integers(*rows)), min(draw(st.integers(*classes)) + draw(st.integers(0, 1)), classes[1])
    n_public, n_private = draw(st.integers(*public)), draw(st.integers(*private))
    names = [f"A{i}" for i in range(n_public)] + [f"P{i}" for i in range(n_private)]
    attributes, columns = [], {}
    for name in draw(st.permutations(names)):
        role: Any = "private" if name.startswith("P") else "public"
        size = draw(st.integers(2, 4))
        if numeric and draw(st.integers(0, 2)) == 0:
            codes = np.array(draw(st.lists(st.integers(0, len(NUMBERS) - 1), min_size=n, max_size=n)))
            attributes.append(Attribute(name, "numeric", None, role))
            columns[name] = np.array(NUMBERS)[codes]
        else:
            attributes.append(Attribute(name, "categorical", ("z", "x", "y", "w")[:size], role))
            columns[name] = np.array(draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    return People(tuple(attributes), columns, y, ("c", "a", "d", "b")[:n_classes])


# --- Growing ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grown:
    """A node with its rows of the people; leaves have no attribute."""

    rows: IntArray
    attribute: str = ""
    cuts: tuple[Cut, ...] = ()
    children: "tuple[Grown, ...]" = ()


@dataclass(frozen=True)
class Recipe:
    """Recipe of growing a tree: splits that compete, their comparison, and the rules to stop."""

    form: str  # "multiway", "binary", or "mixed": multiway but for cuts of numbers
    measure: str
    names: tuple[str, ...]
    encoding: Any = "ordinal"
    min_samples_leaf: int = 1
    k: int = 1
    min_samples_split: int = 2
    max_depth: int = 3
    gain: bool = True  # whether a split has to gain
    salt: int = 0  # which of several best splits is chosen

    @property
    def induction(self) -> Induction:
        candidates: Any = {"multiway": "unused", "binary": "thresholds", "mixed": "mixed"}[self.form]
        measure: Any = self.measure
        return Induction(self.form, measure, candidates, self.min_samples_leaf, self.k, self.encoding)


def taken(people: People, name: str, rows: IntArray, cut: Cut) -> IntArray:
    """The rows that take a branch."""
    values = people.columns[name][rows]
    if people.attribute(name).values is None:
        return rows[(values > cut[0]) & (values <= cut[1])]
    return rows[np.isin(values, cut)]


def impurity(counts: FloatArray, measure: str) -> float:
    """Impurity of class counts, shape (n_classes,), nats for entropies."""
    p = counts / max(counts.sum(), 1e-300)
    if measure == "gini":
        return float(1 - p @ p)
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def badness(tables: Sequence[FloatArray], measure: str) -> float:
    """The expected impurity of branches with these class counts; for gain_ratio minus the ratio. Smaller is better."""
    sizes = np.array([t.sum() for t in tables])
    n = sizes.sum()
    expected = sum(w / n * impurity(t, measure) for w, t in zip(sizes, tables, strict=True))
    if measure != "gain_ratio":
        return float(expected)
    gain = impurity(np.sum(tables, axis=0), measure) - expected
    return float(-gain / impurity(sizes, "entropy"))


def competitors(people: People, recipe: Recipe, rows: IntArray, reach: dict[str, Any], used: frozenset[str]) -> Any:
    """Every split that is compared at a node: (attribute, cuts), most of them leaving enough rows in each branch."""
    least = max(recipe.min_samples_leaf, recipe.k)
    for name in recipe.names:
        values, domain = people.columns[name][rows], reach[name]
        present = np.unique(values)
        if people.attribute(name).values is None:
            middles = (present[:-1] + present[1:]) / 2
            options = [((-np.inf, m), (m, np.inf)) for m in middles.tolist()] if recipe.form != "multiway" else []
        elif recipe.form != "binary":
            absent = tuple(v for v in domain if v not in present)
            options = [] if name in used else [tuple((int(v),) for v in present) + ((absent,) if absent else ())]
        elif recipe.encoding == "onehot":
            options = [((v,), tuple(u for u in domain if u != v)) for v in present.tolist()]
        else:
            options = [
                (tuple(u for u in domain if u <= v), tuple(u for u in domain if u > v)) for v in present[:-1].tolist()
            ]
        for cuts in options:
            sizes = [size for size in (len(taken(people, name, rows, cut)) for cut in cuts) if size]
            if len(sizes) > 1 and min(sizes) >= least:
                yield name, cuts


def narrowed(people: People, reach: dict[str, Any], name: str, cut: Cut) -> dict[str, Any]:
    """Values that can still reach a branch."""
    if people.attribute(name).values is None:
        low, high = reach[name]
        return {**reach, name: (max(low, cut[0]), min(high, cut[1]))}
    return {**reach, name: tuple(v for v in reach[name] if v in cut)}


def everything(people: People) -> dict[str, Any]:
    return {a.name: (-np.inf, np.inf) if a.values is None else tuple(range(len(a.values))) for a in people.attributes}


def grow(people: People, recipe: Recipe) -> Grown:
    """The greedy tree of a recipe."""

    def node(rows: IntArray, reach: dict[str, Any], used: frozenset[str], depth: int) -> Grown:
        counts = people.counts(rows)
        if len(rows) < recipe.min_samples_split or depth >= recipe.max_depth or counts.max(initial=0) == len(rows):
            return Grown(rows)
        options = list(competitors(people, recipe, rows, reach, used))
        tables = [[people.counts(taken(people, name, rows, cut)) for cut in cuts] for name, cuts in options]
        scores = np.array([badness([t for t in table if t.sum()], recipe.measure) for table in tables])
        nothing = 0.0 if recipe.measure == "gain_ratio" else impurity(counts, recipe.measure)
        if not len(scores) or (recipe.gain and scores.min() > nothing - 1e-9):
            return Grown(rows)
        best = np.flatnonzero(scores <= scores.min() + TIE)
        name, cuts = options[best[recipe.salt % len(best)]]
        children = tuple(
            node(taken(people, name, rows, cut), narrowed(people, reach, name, cut), used | {name}, depth + 1)
            for cut in cuts
        )
        return Grown(rows, name, cuts, children)

    return node(np.arange(len(people)), everything(people), frozenset(), 0)


def grow_anyhow(draw: Draw, people: People, depth: int = 3) -> Grown:
    """A tree of arbitrary splits, attributes may come again, some branches may be out of reach of all rows."""

    def node(rows: IntArray, reach: dict[str, Any], left: int) -> Grown:
        names = [n for n, values in reach.items() if people.attribute(n).values is None or len(values) > 1]
        if not left or not names or (left < depth and draw(st.integers(0, 3)) == 0):
            return Grown(rows)
        name = draw(st.sampled_from(sorted(names)))
        cuts: tuple[Cut, ...]
        if people.attribute(name).values is None:
            low, high = reach[name]
            inside = [v for v in (-2.0, -1.5, 0.25, 0.5, 2.0, 9.0) if low < v < high]
            if not inside:
                return Grown(rows)
            at = sorted(draw(st.sets(st.sampled_from(inside), min_size=1, max_size=2)))
            cuts = tuple(zip([-np.inf, *at], [*at, np.inf], strict=True))
        else:
            side = draw(st.lists(st.integers(0, 2), min_size=len(reach[name]), max_size=len(reach[name])))
            sides = [tuple(v for v, s in zip(reach[name], side, strict=True) if s == i) for i in range(3)]
            cuts = tuple(s for s in sides if s)
        children = tuple(
            node(taken(people, name, rows, cut), narrowed(people, reach, name, cut), left - 1) for cut in cuts
        )
        return Grown(rows, name, cuts, children)

    return node(np.arange(len(people)), everything(people), depth)


@st.composite
def recipes(
    draw: Draw, people: People, *, private: bool = True, forms: Sequence[str] = ("multiway", "binary", "mixed")
) -> Recipe:
    """Recipes of trees for some people; private attributes compete when asked for."""
    names = [a.name for a in people.attributes if private or a.role == "public"]
    k = draw(st.sampled_from((1, 1, 1, 2, 3)))
    return Recipe(
        form=draw(st.sampled_from(list(forms))),
        measure=draw(st.sampled_from(("gini", "entropy", "gain_ratio"))),
        names=tuple(names),
        encoding=draw(st.sampled_from(("ordinal", "onehot"))),
        min_samples_leaf=draw(st.sampled_from((1, 1, 2, 4))),
        k=1 if any(n.startswith("P") for n in names) and draw(st.booleans()) else k,
        min_samples_split=draw(st.integers(2, 6)),
        max_depth=draw(st.integers(1, 4)),
        gain=draw(st.booleans()),
        salt=draw(st.integers(0, 3)),
    )


# --- Publishing ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """Style of publication: statements of nodes, digits of rates, removals and blurring."""

    leaf: str = "mixture"
    inner: str = "nothing"
    digits: int | None = None
    removal: bool = False
    suppressed_below: int = 0
    hides_n: bool = False  # whether the limit holds for n as well
    sampling_rate: float = 1.0
    seed: int = 0
    rounded: Rounded | None = None

    def number(self, n: int, dice: np.random.Generator) -> int:
        """A number of records as it is published, but for suppression."""
        if self.rounded is None:
            return n
        base, over = self.rounded.base, n % self.rounded.base
        up = {
            "nearest": 2 * over > base or (2 * over == base and dice.random() < 0.5),
            "random": over > 0 and dice.random() < 0.5,
            "down": False,
        }[self.rounded.method]
        return n - over + base * up


# Kind of blurring -> limits below which counts are suppressed, before what is left is rounded.
SUPPRESSED = {"suppressed": (2, 3, 5), "sampled": (2, 3, 5), "rounded": (0, 0, 2, 5, 8)}


@st.composite
def styles(draw: Draw, *, blurred: bool = True) -> Style:
    kind = draw(
        st.sampled_from(("plain", "plain", "removal", "suppressed", "sampled", "rounded") if blurred else ("plain",))
    )
    return Style(
        leaf=draw(st.sampled_from(("label", "rate", "rate and n", "counts", "all", "mixture", "mixture"))),
        inner=draw(st.sampled_from(("nothing", "nothing", "counts", "n", "mixture"))),
        digits=draw(st.sampled_from((None, None, 1, 2, 3, 4))),
        removal=kind == "removal",
        suppressed_below=draw(st.sampled_from(SUPPRESSED.get(kind, (0,)))),
        hides_n=draw(st.booleans()),
        sampling_rate=draw(st.sampled_from((0.3, 0.5, 0.9))) if kind == "sampled" else 1.0,
        seed=draw(st.integers(0, 2**32 - 1)),
        rounded=draw(roundings()) if kind == "rounded" else None,
    )


@st.composite
def roundings(draw: Draw) -> Rounded:
    return Rounded(draw(st.sampled_from((2, 3, 4, 5, 10))), draw(st.sampled_from(ROUNDING_METHODS)))


STATES = {"nothing": "", "label": "l", "rate": "lr", "rate and n": "lrn", "counts": "c", "n": "n", "all": "lrnc"}


def publish(draw: Draw, people: People, root: Grown, style: Style, induction: Induction, number: int = 0) -> Tree:
    """A grown tree as it is published, with statements that are true of the people (or of a sample of them)."""
    # A strategy would draw samples as unlikely as can be; the intervals hold for random ones.
    dice = np.random.default_rng((style.seed, number))
    kept = dice.random(len(people)) < style.sampling_rate
    ids: dict[int, str] = {}
    order: list[Grown] = []
    stack = [root]
    while stack:
        at = stack.pop()
        ids[id(at)] = f"{'N' if at.attribute else 'L'}{len(order)}"
        order.append(at)
        below = [c for c in at.children if not (style.removal and not c.attribute and draw(st.integers(0, 2)) == 0)]
        stack.extend(reversed(below))

    def node(at: Grown) -> Node:
        says = style.inner if at.attribute else style.leaf
        bits = STATES[says] if says != "mixture" else "".join(b for b in "lrnc" if draw(st.booleans()))
        counts = people.counts(at.rows[kept[at.rows]])
        n = int(counts.sum())
        label = draw(st.sampled_from(np.flatnonzero(counts == counts.max()).tolist()))
        rate = (n - int(counts[label])) / n if n else None
        shown = {
            c: style.number(int(v), dice) if v >= style.suppressed_below else 0
            for c, v in zip(people.classes, counts, strict=True)
        }
        stated = Node(
            ids[id(at)],
            n=(0 if style.hides_n and n < style.suppressed_below else style.number(n, dice)) if "n" in bits else None,
            counts=shown if "c" in bits else None,
        )
        if at.attribute:
            branches = tuple(branch(at, cut, c) for cut, c in zip(at.cuts, at.children, strict=True))
            return replace(stated, attribute=at.attribute, branches=branches)
        if rate is not None and style.digits is not None:
            rate = round(rate, style.digits)
        return replace(
            stated,
            label=people.classes[label] if "l" in bits else None,
            error_rate=rate if "l" in bits and "r" in bits and style.rounded is None else None,
        )

    def branch(at: Grown, cut: Cut, child: Grown) -> Branch:
        values = people.attribute(at.attribute).values
        to = ids.get(id(child))
        if values is not None:
            return Branch(to, values=tuple(values[int(v)] for v in cut))
        gt, le = cut
        return Branch(to, gt=None if gt == -np.inf else float(gt), le=None if le == np.inf else float(le))

    return Tree(tuple(node(at) for at in order), induction)


@st.composite
def cases(
    draw: Draw,
    people: st.SearchStrategy[People] | None = None,
    *,
    kinds: Sequence[str] = ("greedy", "greedy", "private", "anyhow"),
    trees: tuple[int, int] = (1, 1),
    style: st.SearchStrategy[Style] | None = None,
    recipe: Callable[[People, bool], st.SearchStrategy[Recipe]] | None = None,
) -> Case:
    """People and a release of one or more trees grown from them."""
    crowd = draw(populations() if people is None else people)
    how = draw(styles() if style is None else style)
    make = recipe or (lambda crowd, private: recipes(crowd, private=private))
    forest = []
    for number in range(draw(st.integers(*trees))):
        kind = draw(st.sampled_from(list(kinds)))
        if kind == "anyhow":
            forest.append(publish(draw, crowd, grow_anyhow(draw, crowd), how, Induction(), number))
        else:
            steps = draw(make(crowd, kind == "private"))
            forest.append(publish(draw, crowd, grow(crowd, steps), how, steps.induction, number))
    release = Release(
        Target("Y", crowd.classes),
        crowd.attributes,
        tuple(forest),
        how.sampling_rate,
        how.suppressed_below,
        rounded=how.rounded,
    )
    return Case(crowd, release, how.digits)


# --- The truth -------------------------------------------------------------------------------------------------


def leaves_of(release: Release, records: Any) -> IntArray:
    """The leaf of every record in every tree, shape (n, n_trees): positions of nodes, then removed leaves in order."""
    out = np.empty((len(records), len(release.trees)), np.int64)
    columns = {str(name): records[name].to_numpy() for name in records.columns}
    for t, tree in enumerate(release.trees):
        position = {node.id: i for i, node in enumerate(tree.nodes)}
        gone = iter(range(len(tree.nodes), 10**9))
        next_of = [
            [position[b.child] if b.child is not None else next(gone) for b in node.branches] for node in tree.nodes
        ]
        stack = [(0, np.arange(len(records)))]
        while stack:
            at, rows = stack.pop()
            if at >= len(tree.nodes) or tree.nodes[at].is_leaf:
                out[rows, t] = at
                continue
            node = tree.nodes[at]
            values = columns[node.attribute or ""][rows]
            for b, to in zip(node.branches, next_of[at], strict=True):
                if b.values is not None:
                    here = np.array([v in b.values for v in values], bool)
                else:
                    here = (values > (-np.inf if b.gt is None else b.gt)) & (
                        values <= (np.inf if b.le is None else b.le)
                    )
                stack.append((to, rows[here]))
    return out


def owners_of(program: Any, frame: Any) -> list[int]:
    """The quasi-identifier of each of some people."""
    table = program.table
    rows = [tuple(level[c] for level, c in zip(table.levels, row, strict=True)) for row in table.codes]
    number = {row: i for i, row in enumerate(rows)}
    return [number[row] for row in frame[[a.name for a in table.attributes]].itertuples(index=False, name=None)]


def masses_of(program: Any, frame: Any, places: Any, y: Any) -> FloatArray:
    """The individuals of each class in each cell of a program, where people have leaves and classes."""
    cells = program.cells
    index = {(int(o), *map(int, leaf)): i for i, (o, leaf) in enumerate(zip(cells.owner, cells.leaf, strict=True))}
    masses = np.zeros((len(cells), program.n_classes))
    for owner, leaf, own in zip(owners_of(program, frame), places, y, strict=True):
        masses[index[(owner, *map(int, leaf))], own] += 1.0
    return masses


def true_masses(case: Case, program: Any) -> FloatArray:
    """The individuals of each class in each cell of a compiled program, shape (n_cells, n_classes)."""
    return masses_of(program, case.people.frame, leaves_of(case.release, case.people.frame), case.people.y)


@st.composite
def true_facts(draw: Draw, people: People) -> Any:
    """Background knowledge about a few different individuals, as a DataFrame; None when there is none."""
    chosen = draw(st.lists(st.integers(0, len(people) - 1), max_size=3, unique=True))
    if not chosen:
        return None
    public = [a for a in people.attributes if a.role == "public"]
    rows: list[dict[str, Any]] = []
    for i in chosen:
        shown = {a.name: people.frame[a.name].iloc[i] if draw(st.booleans()) else None for a in public}
        rows.append({**shown, "Y": people.frame["Y"].iloc[i], "count": 1})
    return pd.DataFrame(rows)


def inner_places(tree: Tree) -> Iterator[int]:
    """Positions of a tree's inner nodes."""
    return (i for i, node in enumerate(tree.nodes) if not node.is_leaf)
