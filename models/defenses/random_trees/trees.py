"""Random decision trees that are filled with sampled, thresholded counts (Waseda et al. 2025, Algorithm 3).

Their structure does not depend on the data (Fan et al. 2003). Each tree counts a Bernoulli sample of its own, and every
count of a leaf and a class that is below k is set to 0, which makes what is published differentially private under
sampling, see `maxent.models.defenses.random_trees.accounting`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, pairwise

import numpy as np

from maxent.models.defenses.random_trees.counts import Leaves, count_leaves, randomness
from maxent.models.defenses.random_trees.guarantee import guarantee
from maxent.models.defenses.random_trees.parameters import RandomTrees
from maxent.models.defenses.random_trees.paths import Space, paths, space_of
from maxent.models.errors import InvalidInput
from maxent.models.parameters import plain, problems_of
from maxent.models.release import Attribute, Branch, Defense, Induction, Node, Release, Target, Tree
from maxent.models.tables.domains import Domains, Ranges
from maxent.models.tables.training import Training
from maxent.models.trees.reidentification import ranges_of

METHOD = "rdt"


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Random trees with all counts of their samples, which are confidential until `release` suppresses some.

    ``roots`` are the keys of their roots. ``stated`` says whether all domains are known without the data.
    """

    target: Target
    attributes: tuple[Attribute, ...]
    space: Space
    depth: int
    asked: RandomTrees
    stated: bool
    roots: tuple[np.uint64, ...]
    leaves: tuple[Leaves, ...]

    @property
    def reached(self) -> int:
        """Leaves of all trees that somebody in their samples is in."""
        return sum(len(leaves.key) for leaves in self.leaves)

    def release(self, k: int | None = None) -> Release:
        """The published release, see `random_trees`; of the same samples, also with another k than was asked for."""
        asked = self.asked if k is None else replace(self.asked, k=k)
        exact = asked.beta >= 1 and asked.k <= 1
        trees = tuple(
            Tree(tuple(_nodes(self, root, leaves.suppressed(asked.k), exact)), Induction(METHOD))
            for root, leaves in zip(self.roots, self.leaves, strict=True)
        )
        known = guarantee(asked) if self.stated else None
        parameters = {
            "trees": asked.trees,
            "depth": self.depth,
            "beta": asked.beta,
            "k": asked.k,
            "domains": "stated" if self.stated else "data",
            "samples": "secret" if asked.seed is None else "seeded",
            **({} if known is None else {name: value for name, value in asdict(known).items() if value is not None}),
        }
        return Release(self.target, self.attributes, trees, asked.beta, asked.k, Defense(METHOD, parameters))


def random_trees(training: Training, asked: RandomTrees, domains: Domains | None = None) -> Release:
    """Draw random trees, fill them from samples of the records, and suppress small counts.

    Parameters
    ----------
    training : Training
        Its categorical attributes and its target have the domains that were stated, or those of the data.
    asked : RandomTrees
    domains : Domains, optional
        What is known without the data. Of numeric attributes it says what their thresholds are drawn from; without it,
        that is the range of the data.

    Returns
    -------
    Release
        Leaves state counts and nothing else, as a label or a number of records would tell of what was suppressed.
        ``sampling_rate`` is ``beta``, ``suppressed_below`` is ``k``, and the defense ``rdt`` has the parameters, where
        domains are from (``stated`` or ``data``), whether samples are ``secret`` or ``seeded``, and, if domains are
        stated, what is guaranteed as long as nobody knows the seed: ``epsilon``, ``delta`` and ``tight_delta``.

        Parts of a tree in which every count is 0 are left out: their branches have no child. That follows from what is
        published, and so tells nothing more. (They are not leaves with counts of 0: fewer than k people are in each
        leaf of such a part, not in all of them together.) A leaf at full depth whose counts are 0 is published when one
        beside it has others.
    """
    return draw(training, asked, domains).release()


def draw(training: Training, asked: RandomTrees, domains: Domains | None = None) -> Drawn:
    """`random_trees` before any count is suppressed; parameters and errors as there."""
    domains = domains or Domains()
    problems = [*problems_of(asked), *domains.problems(training)]
    if problems:
        raise InvalidInput("random trees", problems)
    ranges = {**ranges_of(training.attributes, training.columns), **domains.ranges}
    stated = not domains.unstated(training)
    return draw_batches([training], training.target, training.attributes, asked, ranges, stated=stated)


def draw_batches(
    batches: Iterable[Training],
    target: Target,
    attributes: Sequence[Attribute],
    asked: RandomTrees,
    ranges: Ranges,
    *,
    stated: bool = True,
) -> Drawn:
    """`draw` for records that come in batches, all with these domains; nothing is checked.

    ``ranges`` has every numeric attribute; ``stated`` says whether all domains are known without the data. What has to
    fit into memory is a batch, and the leaves that records reach.
    """
    asked = RandomTrees(**{name: plain(value) for name, value in asdict(asked).items()})
    space = space_of(attributes, ranges)
    depth = max(len(attributes) // 2, 1) if asked.depth is None else asked.depth
    random = [randomness(asked.seed, t) for t in range(asked.trees)]
    leaves = count_leaves(batches, random, asked.beta, space, depth, len(target.classes))
    roots = tuple(root for root, _ in random)
    return Drawn(target, tuple(attributes), space, depth, asked, stated, roots, leaves)


def _nodes(forest: Drawn, root: np.uint64, shown: Leaves, exact: bool) -> Iterator[Node]:
    """The nodes of a tree, the root first; ``shown`` are its leaves with counts above 0.

    Leaves without anybody share one below each node. Others with counts of 0 must not: those of several leaves together
    need not be small, and who chooses leaves because their samples are empty makes them look emptier than they are.
    """
    n = len(shown.key)
    some = shown.some if n else np.zeros((1, len(forest.attributes)))  # the root tests the same whoever comes
    steps = list(paths(forest.space, root, forest.depth, some))
    order = np.lexsort([step.branch for step in reversed(steps)]) if steps else np.arange(len(some))
    steps, counts = [step.take(order) for step in steps], shown.counts[order[:n]]
    queue: deque[tuple[str, bool, int, int, int]] = deque()
    leaf_ids, inner_ids = (map(f"{letter}{{}}".format, count(1)) for letter in "LN")

    def place(level: int, begin: int, end: int) -> str:
        """The id of the node above the leaves from ``begin`` to ``end``."""
        inner = begin < end and level < len(steps) and bool(steps[level].attribute[begin] >= 0)
        queue.append((next(inner_ids if inner else leaf_ids), inner, level, begin, end))
        return queue[-1][0]

    place(0, 0, len(some))
    while queue:
        name, inner, level, begin, end = queue.popleft()
        if not inner:
            yield Node(
                name, counts=dict(zip(forest.target.classes, counts[begin:end].sum(axis=0).tolist(), strict=True))
            )
            continue
        step, end = steps[level], min(end, n)
        attribute = forest.attributes[step.attribute[begin]]
        taken = step.branch[begin:end]
        starts = (begin + np.flatnonzero(np.diff(taken, prepend=-1))).tolist()
        below: dict[int, str | None] = {
            int(step.branch[at]): place(level + 1, at, to) for at, to in pairwise([*starts, end])
        }
        empty = [branch for branch in range(len(attribute.values or "01")) if branch not in below]
        if exact and empty:
            below |= dict.fromkeys(empty, place(level + 1, end, end))
        elif step.last[begin]:
            below |= {branch: place(level + 1, end, end) for branch in empty}
        yield Node(name, attribute.name, _branches(attribute, float(step.cut[begin]), below))


def _branches(attribute: Attribute, cut: float, below: Mapping[int, str | None]) -> tuple[Branch, ...]:
    """The branches of a node, with the child that is below each; those that are not there have none."""
    if attribute.values is None:
        return Branch(below.get(0), le=cut), Branch(below.get(1), gt=cut)
    values: dict[str | None, list[str]] = {}
    for code, value in enumerate(attribute.values):
        values.setdefault(below.get(code), []).append(value)
    return tuple(Branch(child, tuple(of)) for child, of in values.items())
