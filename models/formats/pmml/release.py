"""PMML trees as a release: classes, attributes, leaf statements, and the proof by the training table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.formats.assemble import assemble
from maxent.models.formats.pmml.ensembles import PmmlEnsemble, trees_in
from maxent.models.formats.pmml.inputs import PmmlInput
from maxent.models.formats.pmml.routes import PARTED, PmmlRouted, Route, Router
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.formats.proof import TrainingColumns, check_leaves, counts_in_leaves, read_training
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Labels, Node, Release, Tree
from maxent.models.tables.cells import MISSING

# Statements of the leaves of PMML: counts told apart from shares, and from weights.

_STATEMENTS_NEAR = 1e-6

Kind = Literal["counts", "shares", "weights", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class PmmlStated:
    """Statements of an element: its class, how many records it says it has, and a number, or a share, of each class."""

    label: str | None
    n: float | None
    numbers: tuple[float, ...] | None

    @property
    def shares(self) -> tuple[float, ...] | None:
        """The share of each class, None where there are none."""
        total = sum(self.numbers or ())
        return None if self.numbers is None or total <= 0 else tuple(number / total for number in self.numbers)


def classes_named(routes: Sequence[Route]) -> tuple[str, ...]:
    """The classes that leaves name, in the order of the document."""
    found: dict[str, None] = {}
    for element in (node.element for route in routes for node in route.nodes if node.element is not None):
        found.update({each.need("value"): None for each in element.all("ScoreDistribution")})
    for node in (node for route in routes for node in route.nodes):
        if node.score is not None and node.score.get("score") is not None:
            found[node.score.need("score")] = None
    return tuple(found)


def stated(element: Element, classes: Sequence[str]) -> PmmlStated:
    """Statements of an element about classes."""
    label = element.get("score")
    if label is not None and label not in classes:
        element.refuse("score", f"one of the {len(classes)} classes of the target")
    n = element.number("recordCount") if element.get("recordCount") is not None else None
    if n is not None and not 0 <= n <= LARGEST_COUNT:
        element.refuse("recordCount", "a number of records")
    counts, shares = dict.fromkeys(classes, 0.0), dict.fromkeys(classes, 0.0)
    has_shares, found = True, False
    seen: set[str] = set()
    for each in element.all("ScoreDistribution"):
        name = each.need("value")
        if name not in counts or name in seen:
            each.refuse("value", f"one of the {len(classes)} classes of the target, each once")
        seen.add(name)
        counts[name] = each.number("recordCount", 0.0 if each.get("probability") is not None else None)
        share = each.get("probability")
        has_shares = has_shares and share is not None
        shares[name] = each.number("probability") if share is not None else 0.0
        if not 0 <= counts[name] <= LARGEST_COUNT or not 0 <= shares[name] <= 1:
            each.refuse("recordCount", "a number of records")
        found = True
    if not found:
        return PmmlStated(label, n, None)
    by_count = sum(counts.values()) > 0 or not has_shares
    return PmmlStated(label, n, tuple((counts if by_count else shares).values()))


def kind_of(leaves: Sequence[PmmlStated]) -> Kind:
    """What the numbers of leaves are: records of each class, shares of the classes, or sums of weights."""
    given = [leaf.numbers for leaf in leaves if leaf.numbers is not None]
    if not given or len(given) < len(leaves):
        return "none"
    if all(abs(sum(numbers) - 1) < _STATEMENTS_NEAR for numbers in given):
        return "shares"
    return "counts" if all(number == int(number) for numbers in given for number in numbers) else "weights"


def counted(leaf: PmmlStated) -> PmmlStated:
    """Shares with a number of records as counts, where they are such; else as they are."""
    if leaf.numbers is None or abs(sum(leaf.numbers) - 1) > _STATEMENTS_NEAR:
        return leaf
    if leaf.n is None or leaf.n <= 1 or leaf.n != int(leaf.n) or leaf.shares is None:
        return leaf
    numbers = tuple(share * leaf.n for share in leaf.shares)
    whole = tuple(float(round(number)) for number in numbers)
    near = all(abs(a - b) < _STATEMENTS_NEAR * max(1.0, a) for a, b in zip(numbers, whole, strict=True))
    return replace(leaf, numbers=whole) if near and sum(whole) == leaf.n else leaf


def is_whole(number: float | None) -> bool:
    """Whether there is a number, and it is whole."""
    return number is not None and number == int(number)


class PmmlWriter:
    """Makes the nodes of a release of routed ones; `how` says what the numbers of leaves are taken for."""

    def __init__(self, classes: Sequence[str], names: Sequence[str]) -> None:
        self._classes, self._names = tuple(classes), tuple(names)
        self._title = dict(zip(classes, names, strict=True))

    def tree(
        self, route: Route, how: Literal["counts", "rates", "scores", "values", "labels"], *, sizes: bool, draws: bool
    ) -> Tree:
        """A tree; ``sizes`` is whether numbers of records are stated, ``draws`` whether they are of draws."""
        nodes = [self._node(route, node, how, sizes, draws) for node in route.nodes]
        first: dict[int, str] = {}  # where records reach a leaf on several ways: its places are named after the first
        for at, routed in enumerate(route.nodes if how not in ("values", "scores") else ()):
            if not routed.branches and routed.element is not None and route.ways.get(id(routed.element), 1) > 1:
                nodes[at] = replace(nodes[at], part_of=first.setdefault(id(routed.element), routed.id))
        if first:  # what nodes within count would tell its places apart
            bare = (Node(node.id, node.attribute, node.branches) if node.branches else node for node in nodes[1:])
            nodes = [nodes[0], *bare]
        return Tree(tuple(nodes))

    def _node(self, route: Route, node: PmmlRouted, how: str, sizes: bool, draws: bool) -> Node:
        alone = node.element is not None and route.ways.get(id(node.element), 1) == 1
        if how == "values":
            value = None if node.attribute is not None else self._value(node)
            n = self._n(node.element) if alone and sizes else None
            return Node(node.id, node.attribute, node.branches, value=value, n=n)
        said = None if node.element is None else stated(node.element, self._classes)
        label = None
        if node.attribute is None:
            given = None if node.score is None else node.score.get("score")
            label = None if given is None else self._title[given]
            if how == "scores":
                shares = None if said is None else said.shares
                if shares is None:
                    shares = (0.0,) * len(self._classes)
                return Node(node.id, value=dict(zip(self._names, shares, strict=True)))
        if how == "scores":
            return Node(node.id, node.attribute, node.branches)
        if said is None or not alone:
            return Node(node.id, node.attribute, node.branches, label=label)
        counts = rates = distinct = None
        n = int(said.n) if sizes and said.n is not None and is_whole(said.n) else None
        if how == "counts":
            full = counted(said)
            if full.numbers is not None:
                whole = [round(number) for number in full.numbers]
                counts = dict(zip(self._names, whole, strict=True))
                distinct = n if draws and n is not None and n < sum(whole) else None
                n = sum(whole)
            elif draws:
                # What the file gives of an inner node may be draws, or different records.
                n = None
        elif how == "rates" and node.attribute is None and said.shares is not None:
            rates = dict(zip(self._names, said.shares, strict=True))
        return Node(node.id, node.attribute, node.branches, label, None, n, counts, rates, distinct)

    @staticmethod
    def _value(node: PmmlRouted) -> float:
        return 0.0 if node.score is None else node.score.number("score")

    @staticmethod
    def _n(element: Element | None) -> int | None:
        n = None if element is None or element.get("recordCount") is None else element.number("recordCount")
        return int(n) if n is not None and is_whole(n) and n >= 0 else None


def totals(nodes: Sequence[Node]) -> Mapping[str, int]:
    """The counts of all leaves of a tree together."""
    found: dict[str, int] = {}
    for node in nodes:
        if node.is_leaf and node.counts is not None:
            for name, count in node.counts.items():
                found[name] = found.get(name, 0) + count
    return found


_ADVICE = "another table, rows with weights, or values that were changed before the model saw them would show so"
_NEAR = 1e-6

# Whether a leaf states what training rows of each class reach it
Agrees: TypeAlias = "Callable[[Node, Sequence[int]], bool]"

How: TypeAlias = Literal["counts", "rates", "scores", "values", "labels"]


@dataclass(frozen=True, slots=True, eq=False)
class PmmlModel:
    """A model whose trees are elements of PMML, or made of another format; ``exact``: thresholds are the tool's own.

    ``draws`` is whether the trees of a forest count as many draws, ``whole`` whether each is known to count all
    records.
    """

    element: Element
    given: PmmlInput
    ensemble: PmmlEnsemble
    tool: str
    exact: bool = True
    draws: bool = True
    whole: bool = False


def with_target(
    wanted: Wanted, target: str | None, training: TrainingColumns | None, reader: Reader
) -> tuple[Wanted, TrainingColumns | None]:
    """What the caller says, and the training table with the classes, where the file alone names the target."""
    if training is None or wanted.target is not None or target not in training.frame.header:
        return wanted, training
    wanted = replace(wanted, target=target)
    return wanted, read_training(wanted, reader)


class Conversion:
    """One model on its way to a release."""

    def __init__(self, model: PmmlModel, wanted: Wanted, training: TrainingColumns | None) -> None:
        self._source, self._model, self._about = model.element.source, model.element, model
        self._input, self._ensemble, self._exact = model.given, model.ensemble, model.exact
        self._wanted, self._training = wanted, training
        self._target = wanted.target or model.given.target
        self._routes, self._missing = _routes(self._ensemble, self._input)
        self._refuse_gaps()
        self._lost: list[str] = []
        self._classes, self._names = self._named_classes()

    def _refuse_gaps(self) -> None:
        """Refuse a table with missing values for which the model gives no prediction: the file lost where they go."""
        gaps = () if self._training is None else sorted(self._missing & self._training.gaps)
        if gaps:
            expected = (
                "columns without missing values, for which this file gives no prediction (save a model that takes "
                "them with skops, or convert it in Python)"
            )
            raise invalid(self._source, f"column {shorten(gaps[0])}", "missing values", expected, "some in train")

    def converted(self) -> Converted:
        """The release."""
        release = self._scored() if self._ensemble.predicts == "score" else self._answered()
        self._lost.append("the criterion, so that nothing follows from the choice of splits")
        parted = {m.model.get("missingValueStrategy") for m in self._ensemble.members} & {*PARTED}
        if parted:
            self._lost.append(
                f"where missing values go: {', '.join(sorted(str(p) for p in parted))} sends a record down several "
                "branches, in parts"
            )
        if not self._exact:
            self._lost.append("digits of thresholds beyond single precision")
        return Converted(release, self._about.tool, tuple(self._lost), self._exact)

    def _named_classes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The classes as the file has them, and their names."""
        declared = self._input.classes or self._ensemble.classes
        score = self._ensemble.predicts == "score"
        found = declared or (() if score else classes_named(self._routes))
        if score and not set(self._ensemble.classes) <= set(found):
            self._model.refuse("RegressionTable", f"classes among {shorten(list(found))}", "others")
        if len(found) < 2:
            self._model.refuse("target", "two classes or more", str(len(found)))
        names = self._wanted.classes
        if names is None or set(names) == set(found):
            return found, self._as_in_the_table(found)
        if len(names) != len(found):
            expected = f"{len(found)} names, as the model has classes ({shorten(list(found))})"
            raise invalid("options", "argument", "classes", expected, str(len(names)))
        return found, names

    def _as_in_the_table(self, classes: tuple[str, ...]) -> tuple[str, ...]:
        """Classes as a training table spells them: true as True."""
        spelled = {name.casefold(): name for name in ((self._training and self._training.classes) or ())}
        found = tuple(spelled.get(name.casefold(), name) for name in classes)
        return found if len(set(found)) == len(classes) else classes

    def _attributes(self) -> dict[str, Attribute]:
        """The attributes that the file declares, with missing values where these have predictions."""
        found = {}
        tested = {node.attribute for route in self._routes for node in route.nodes}
        for name, attribute in self._input.attributes.items():
            missing = name in tested and name not in self._missing
            if attribute.values is None:
                found[name] = replace(attribute, missing=missing)
            else:
                gaps = self._training is not None and name in self._training.gaps and name not in tested
                values = attribute.values if missing or gaps else attribute.values[:-1]
                found[name] = replace(attribute, values=values or (MISSING,))
        return found

    def _release(self, trees: Sequence[Tree], **how: Any) -> Release:
        weighted = [
            replace(tree, weight=member.weight) for tree, member in zip(trees, self._ensemble.members, strict=True)
        ]
        known = self._attributes()
        return assemble(
            self._source, weighted, self._names, self._wanted, self._training, target=self._target, known=known, **how
        )

    def _written(self, how: How, *, sizes: bool = True, draws: bool = False) -> list[Tree]:
        writer = PmmlWriter(self._classes, self._names)
        return [writer.tree(route, how, sizes=sizes, draws=draws) for route in self._routes]

    def _scored(self) -> Release:
        """Boosted trees: their leaves state scores, and sizes where the training table proves them."""
        ensemble = self._ensemble
        title = dict(zip(self._classes, self._names, strict=True))
        boosting = ensemble.boosting or Boosting("none")
        if isinstance(boosting.base, Mapping):
            boosting = replace(boosting, base={title[c]: score for c, score in boosting.base.items()})

        def release(sizes: bool) -> Release:
            trees = [
                replace(tree, of_class=title[member.of_class or self._classes[1]])
                for tree, member in zip(self._written("values", sizes=sizes), ensemble.members, strict=True)
            ]
            return self._release(trees, predicts="score", boosting=boosting)

        found = release(sizes=True)
        if any(node.n is not None for tree in found.trees for node in tree.nodes):
            if self._training is not None and self._agree(found, lambda node, here: node.n in (None, sum(here))):
                return found
            self._lost.append("sizes of leaves: whether all rows were counted is not in the file (--train proves it)")
        return release(sizes=False)

    def _answered(self) -> Release:
        """Trees whose leaves have classes."""
        leaves = [
            stated(node.element, self._classes)
            for route in self._routes
            for node in route.nodes
            if node.attribute is None and node.element is not None
        ]
        kind = kind_of(leaves)
        if kind == "shares" and kind_of([counted(leaf) for leaf in leaves]) == "counts":
            kind = "counts"
        predicts = self._ensemble.predicts
        shared = any(ways > 1 for route in self._routes for ways in route.ways.values())
        elsewhere = any(n.attribute is None and n.element is None and n.score for r in self._routes for n in r.nodes)
        labels: Labels = "decided" if shared or elsewhere else "majority"
        if shared:
            self._lost.append("statements of leaves that records reach on several ways")
        if predicts == "label" and kind == "counts":
            found = self._release(self._written("counts"), predicts="label", labels=labels)
            if self._training is not None and not shared:
                check_leaves(self._source, found, self._training, _ADVICE, empty=True)
            return found
        if predicts != "label" and kind == "counts":
            return self._forest(labels)
        if kind == "shares" and self._are_shares(leaves):
            # Some programs write shares as if a leaf had one record.
            self._lost.append("counts of leaves: the file has shares of the classes")
            sizes = predicts == "label" and any(abs((leaf.n or 1) - 1) > _NEAR for leaf in leaves)
            return self._release(self._written("rates", sizes=sizes), predicts=predicts, labels=labels)
        if predicts == "mean" or (predicts == "label" and kind != "none" and self._are_largest(leaves)):
            return self._mean_of_scores(kind)
        if kind != "none":
            self._lost.append("shares of classes: those in the file are of rows with weights, or of draws of them")
            labels = "decided"
        if predicts == "vote":
            labels = "decided"
        sizes = predicts == "label"
        found = self._release(self._written("labels", sizes=sizes), predicts=predicts, labels=labels)
        if sizes and any(leaf.n is not None for leaf in leaves) and not self._is_sized(found):
            found = self._release(self._written("labels", sizes=False), predicts=predicts, labels=labels)
            self._lost.append("sizes of leaves: they are not those of the training table")
        return found

    def _are_largest(self, leaves: Sequence[PmmlStated]) -> bool:
        """Whether each leaf has the label of its largest share."""
        return all(
            leaf.shares is not None and leaf.label in (None, self._classes[leaf.shares.index(max(leaf.shares))])
            for leaf in leaves
        )

    def _is_sized(self, found: Release) -> bool:
        """Whether sizes of leaves are those of a training table, where there is one."""
        agrees = self._training is None or self._agree(found, lambda node, here: node.n in (None, sum(here)))
        return agrees and not (self._training is None and all(n.n == 1 for t in found.trees for n in t.leaves))

    def _are_shares(self, leaves: Sequence[PmmlStated]) -> bool:
        """Whether shares of classes are those of the records, and not of weights or draws."""
        if self._training is not None and self._training.classes:
            found = self._release(self._written("rates", sizes=False), predicts=self._ensemble.predicts)
            return self._agree(found, _has_rates(self._names))
        # Whatever the weights, where one class has all of them it has all records.
        pure = all(share in (0.0, 1.0) for leaf in leaves for share in leaf.shares or ())
        return self._ensemble.predicts == "label" and pure

    def _forest(self, labels: Labels) -> Release:
        """Trees whose leaves count records, or draws of them."""
        predicts = self._ensemble.predicts
        plain = self._written("counts")
        sums = [totals(tree.nodes) for tree in plain]
        alike = all(each == sums[0] for each in sums)
        whole = self._about.whole or "ExtraTrees" in (self._model.get("algorithmName") or "")
        if alike:
            found = self._release(plain, predicts=predicts, labels=labels)
            exact = all(n.is_leaf or n.n is None for t in plain for n in t.nodes) or self._is_consistent(plain)
            proven = self._training is not None and self._agree(found, _has_counts(self._names))
            if exact and (proven or (whole and self._training is None)):
                return found
        draws = {sum(each.values()) for each in sums}
        if len(draws) == 1 and self._about.draws:
            trees = self._written("counts", draws=True)
            return self._release(trees, predicts=predicts, resampled=draws.pop(), labels=labels)
        if predicts == "mean":
            return self._mean_of_scores("counts")
        self._lost.append("counts: each tree counts another number of draws")
        return self._release(self._written("labels", sizes=False), predicts=predicts, labels="decided")

    @staticmethod
    def _is_consistent(trees: Sequence[Tree]) -> bool:
        """Whether the root of each tree has as many records as its leaves."""
        return all(tree.root.n in (None, sum(totals(tree.nodes).values())) for tree in trees)

    def _mean_of_scores(self, kind: str) -> Release:
        """Trees whose leaves state shares that nothing shows to be of records: they are scores."""
        if kind == "none":
            self._model.refuse("ScoreDistribution", "shares of the classes at every leaf, whose mean is predicted")
        why = "each tree counts another number of draws"
        if kind != "counts":
            why = "of draws, or of rows with weights, they are other ones (--train and --target may prove them)"
        self._lost.append(f"shares of classes among the records: {why}")
        return self._release(self._written("scores"), predicts="score", boosting=Boosting("share"))

    def _agree(self, found: Release, agrees: Agrees) -> bool:
        """Whether all leaves that training rows reach state what these are."""
        assert self._training is not None
        counts = counts_in_leaves(found, self._training)
        return all(
            agrees(node, here)
            for tree, nodes in zip(found.trees, counts, strict=True)
            for node, here in zip(tree.nodes, nodes.tolist(), strict=True)
            if node.is_leaf
        )


def _has_counts(names: Sequence[str]) -> Agrees:
    """Whether a leaf counts as the table does."""
    return lambda node, here: node.counts is None or [node.counts[c] for c in names] == here


def _has_rates(names: Sequence[str]) -> Agrees:
    """Whether a leaf has the shares of the table."""

    def agrees(node: Node, here: Sequence[int]) -> bool:
        rates, total = node.rates, sum(here)
        return rates is None or (
            total > 0 and all(abs(rates[c] - count / total) < _NEAR for c, count in zip(names, here, strict=True))
        )

    return agrees


def _routes(ensemble: PmmlEnsemble, given: PmmlInput) -> tuple[list[Route], frozenset[str]]:
    """The routes of all trees, and the columns whose missing values never have a prediction."""
    size = trees_in(ensemble.members)

    def routed(without: frozenset[str]) -> Iterator[Route]:
        for member in ensemble.members:
            yield Router(member.model, member.scope, size, without).routed()

    routes = list(routed(frozenset()))
    followed: dict[str, bool] = {}
    for route in routes:
        for name, follows in route.follows_missing.items():
            followed[name] = followed.get(name, False) or follows
    without = frozenset(name for name, follows in followed.items() if not follows)
    return (list(routed(without)) if without else routes), without
