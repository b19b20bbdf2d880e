"""Branches merged along hierarchies: against all cuts of all subtrees of random trees, and what is published then."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.limited import ends, entropy, gini, held, keeps, random_limits, trees

from maxent.__main__ import main
from maxent.api.defend import defend
from maxent.api.estimate import estimate
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.merging import MergedPart as Part
from maxent.models.defenses.optimal.merging import divided, opened
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.inducers import Growth, induce
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.hierarchies import Hierarchy
from maxent.models.tables.training import Training
from maxent.models.trees.places import assign
from maxent.models.trees.predict import cases_of, score

CLASSES = ("yes", "no", "perhaps")


class Group(list[Any]):
    """Branches that may be merged; ``many`` of them have people."""

    many = 0


def random_hierarchy(random: np.random.Generator, values: tuple[str, ...]) -> Hierarchy:
    """Two levels of groups, each of which may be one value."""
    low = random.integers(0, 3, len(values))
    high = random.integers(0, 2, 3)[low]
    return Hierarchy((values, tuple(f"low{i}" for i in low), tuple(f"high{i}" for i in high), ("*",) * len(values)))


def random_case(random: np.random.Generator) -> tuple[Training, dict[str, Hierarchy]]:
    """People with two or three attributes, of which one has no hierarchy, and values that nobody has."""
    n = int(random.integers(15, 60))
    sizes = [int(size) for size in random.integers(3, 6, int(random.integers(2, 4)))]
    attributes = tuple(Attribute(f"x{j}", "categorical", tuple("abcdef"[: size + 1])) for j, size in enumerate(sizes))
    shares = [random.dirichlet(np.full(size, 0.7)) for size in sizes]
    columns = tuple(random.choice(size, n, p=p) for size, p in zip(sizes, shares, strict=True))
    y = np.where(random.random(n) < 0.7, (columns[0] + columns[1]) % 3, random.integers(0, 3, n))
    hierarchies = {a.name: random_hierarchy(random, a.values or ()) for a in attributes[:2]}
    return Training(Target("y", CLASSES), attributes, columns, y), hierarchies


def units(held_by: list[set[str]], n: list[int], hierarchy: Hierarchy, least: int) -> Any:
    """What a split is divided into, from the finest groups on: (members, lead, parts)."""
    found: list[Any] = [([i], i, []) for i in range(len(held_by))]

    def size(unit: Any) -> int:
        return sum(n[i] for i in unit[0])

    def join(unit: Any, small: Any) -> None:
        unit[0].extend(small[0])
        if unit[2]:
            before = [sum(n[i] for i in part[0]) for part in unit[2]]
            join(unit[2][before.index(max(before))], small)

    def settle(inside: list[Any]) -> Any:
        large = [unit for unit in inside if size(unit) >= least]
        if not large:
            return ([i for unit in inside for i in unit[0]], None, [])
        main_ = max(large, key=size)
        for unit in inside:
            if size(unit) < least:
                join(main_, unit)
        return large[0] if len(large) == 1 else ([i for unit in large for i in unit[0]], None, large)

    for level in hierarchy.levels[1:]:
        for name in dict.fromkeys(level):
            group = {value for value, of in zip(hierarchy.values, level, strict=True) if of == name}
            inside = [unit for unit in found if all(held_by[i] <= group for i in unit[0])]
            if 1 < len(inside) < len(found):
                at = found.index(inside[0])
                rest = [unit for unit in found if unit not in inside]
                found = [*rest[:at], settle(inside), *rest[at:]]
    return settle(found)


def shape_of(
    tree: Tree, name: str, rows: Any, training: Training, hierarchies: dict[str, Hierarchy], least: int
) -> Any:
    """Everything that may be published below a node: a leaf is its counts."""
    node = next(each for each in tree.nodes if each.id == name)
    if node.is_leaf:
        return np.bincount(training.y[rows], minlength=3)
    j = [a.name for a in training.attributes].index(node.attribute or "")
    value = np.array(training.attributes[j].values, object)[training.columns[j][rows]]
    parts = [rows[np.isin(value, list(branch.values or ()))] for branch in node.branches]
    n = [len(part) for part in parts]

    def below(child: str | None, of: Any) -> Any:
        return shape_of(tree, child or "", of, training, hierarchies, least)

    def of_unit(unit: Any) -> Any:
        members, lead, inside = unit
        of = np.concatenate([parts[i] for i in members])
        if lead is not None:
            return below(node.branches[lead].child, of)
        if not inside:
            return np.bincount(training.y[of], minlength=3)
        group = Group(map(of_unit, inside))
        group.many = sum(n[i] > 0 for i in members)
        return group

    if node.attribute in hierarchies and len(node.branches) > 2:
        whole = units([set(b.values or ()) for b in node.branches], n, hierarchies[node.attribute], least)
        if whole[2]:
            return [of_unit(unit) for unit in whole[2]]
    return [below(branch.child, part) for branch, part in zip(node.branches, parts, strict=True)]


def cuts(shape: Any) -> Iterator[tuple[int, list[Any]]]:
    """Every tree that may be published: how many branches are merged into others, and the leaves."""
    yield max(shape.many - 1, 0) if isinstance(shape, Group) else 0, [held(shape)]
    if isinstance(shape, list):
        for below in product(*(list(cuts(child)) for child in shape)):
            yield sum(merged for merged, _ in below), [leaf for _, leaves in below for leaf in leaves]


def has_groups(shape: Any) -> bool:
    """Whether branches may be merged anywhere."""
    return isinstance(shape, list) and (isinstance(shape, Group) or any(map(has_groups, shape)))


def merged_check(seed: int) -> bool:
    """One random tree, random hierarchies, random limits: the same optimum as of all cuts of all subtrees."""
    random = np.random.default_rng(seed)
    training, hierarchies = random_case(random)
    limits = random_limits(random)
    grown = induce(training, Growth("id3", max_depth=2), publish="counts")
    shape = shape_of(grown.trees[0], grown.trees[0].root.id, np.arange(len(training)), training, hierarchies, limits.k)
    n = len(training)
    groups = np.unique(np.column_stack(training.columns), axis=0, return_inverse=True)[1].ravel()
    truth = sum(entropy(np.bincount(training.y[groups == g], minlength=3)) for g in range(groups.max() + 1))
    every = list(cuts(shape))
    allowed = [each for each in every if keeps(each[1], limits, truth)]
    if not allowed:
        with pytest.raises(InvalidInput, match="limits"):
            optimal_subtree(grown, limits, training, hierarchies=hierarchies)
        return False
    found = optimal_subtree(grown, limits, training, hierarchies=hierarchies)
    validate_release(found.release)
    assert found.proved
    leaves = check_counts(found.release, training)
    assert keeps(leaves, limits, truth), (seed, limits)
    same = [merged for merged, each in every if sorted(map(tuple, each)) == sorted(map(tuple, leaves))]
    assert same, seed
    if limits.objective == "accuracy":
        most = max(sum(map(max, each)) for _, each in allowed)
        assert found.reached == most / n == sum(map(max, leaves)) / n, seed
        if not limits.summed and has_groups(shape):  # others prefer what predicts as the tree that only k cuts back
            least = min((merged, len(each)) for merged, each in allowed if sum(map(max, each)) == most)
            assert (min(same), len(leaves)) == least, seed
    else:
        assert found.reached == pytest.approx(min(sum(map(gini, each)) for _, each in allowed) / n, abs=2e-6)
    return len(leaves) > 1


def check_counts(release: Release, training: Training) -> list[Any]:
    """The counts of the leaves, which are those of the records that end in them."""
    (tree,) = release.trees
    ended = assign(tree, training.attributes, training.columns)
    found = []
    for place, node in enumerate(tree.nodes):
        if node.is_leaf:
            found.append(np.bincount(training.y[ended == place], minlength=3))
            assert list((node.counts or {}).values()) == found[-1].tolist()
            assert node.label == CLASSES[int(found[-1].argmax())]
    return found


def test_the_optimum_of_all_cuts() -> None:
    assert sum(map(merged_check, range(12))) > 3


@pytest.mark.slow
def test_the_optimum_of_all_cuts_of_many_trees() -> None:
    assert sum(map(merged_check, range(1000, 1400))) > 130


def right(tree: Any, above: Any = None) -> int:
    """Records with the right label; a removed leaf has that of what is published beside it, or farther above."""
    if not isinstance(tree, list):
        counts, stated = (tree[1], above) if isinstance(tree, tuple) else (tree, tree)
        return int(counts[int(np.argmax(stated))])
    kept = ends(tree)[0]
    answer = sum(kept) if kept else above
    return sum(right(child, answer) for child in tree)


def removed_check(seed: int) -> bool:
    """One random tree with leaves removed: the same optimum as of all removals from all cuts."""
    random = np.random.default_rng(seed)
    training, hierarchies = random_case(random)
    limits = Limits(k=int(random.integers(2, 7)), max_posterior=0.9)
    grown = induce(training, Growth("id3", max_depth=1 + seed % 2), publish="counts")
    tree = grown.trees[0]
    shape = shape_of(tree, tree.root.id, np.arange(len(training)), training, hierarchies, 1)
    every = list(islice(trees(shape), 20_001))
    if len(every) > 20_000:
        return False
    allowed = [each for each in every if (kept := ends(each)[0]) and keeps(kept, limits, 0.0)]
    asked: dict[str, Any] = {"remove": True, "hierarchies": hierarchies}
    if not allowed:
        with pytest.raises(InvalidInput, match="limits"):
            optimal_subtree(grown, limits, training, **asked)
        return False
    found = optimal_subtree(grown, limits, training, **asked)
    validate_release(found.release)
    assert found.reached == pytest.approx(score(found.release, cases_of(training)).accuracy, abs=1e-12), seed
    most = max(map(right, allowed)) / len(training)
    assert found.most >= most - 1e-12, seed
    assert not found.proved or found.reached == pytest.approx(most, abs=1e-12), seed
    check_counts(found.release, training)
    return any(branch.child is None for node in found.release.trees[0].nodes for branch in node.branches)


def test_removed_leaves_beside_merged_branches() -> None:
    assert sum(map(removed_check, range(6))) > 1


@pytest.mark.slow
def test_removed_leaves_beside_merged_branches_of_many_trees() -> None:
    assert sum(map(removed_check, range(2000, 2200))) > 30


def test_branches_are_joined_in_the_smallest_group_that_has_enough() -> None:
    rows = [("a", "A", "x"), ("b", "A", "x"), ("c", "B", "x"), ("d", "C", "y"), ("e", "C", "y"), ("f", "D", "y")]
    hierarchy = Hierarchy(tuple(zip(*rows, strict=True)))
    held = [(value,) for value in hierarchy.values]
    whole = divided(held, [9, 1, 7, 2, 3, 4], hierarchy, 5)
    joined = Part("", (0, 1), 10, 0)  # b is too small, and a the largest of its group
    together = Part("C", (3, 4, 5), 9)  # d and e are too small, but not together; f joins them
    assert whole.parts == (Part("x", (0, 1, 2), 17, parts=(joined, Part("", (2,), 7, 2))), together)
    assert divided(held, [9, 1, 1, 1, 0, 1], hierarchy, 5).parts == ()


def people() -> pd.DataFrame:
    """Five countries of two continents, three of them with few people."""
    country = ["de"] * 30 + ["fr"] * 4 + ["it"] * 3 + ["jp"] * 20 + ["kr"] * 3
    y = ["yes"] * 24 + ["no"] * 6 + ["no"] * 5 + ["yes"] * 2 + ["no"] * 16 + ["yes"] * 4 + ["no"] * 2 + ["yes"]
    return pd.DataFrame({"country": country, "odd": ["a", "b"] * 30, "y": y})


LEVELS = [(c, "Europe", "*") for c in ("de", "fr", "it")] + [(c, "Asia", "*") for c in ("jp", "kr", "cn")]


def test_merged_branches_from_the_command(tmp_path: Any, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    (tmp_path / "levels").mkdir()
    (tmp_path / "levels" / "country.csv").write_text("\n".join(map(";".join, LEVELS)), encoding="utf-8")
    asked = ["defend", "optimal", "people.csv", "--target", "y", "--qi", "country,odd", "--k", "5", "-o", "best.json"]
    grown = ["--inducer", "id3", "--max-depth", "1"]
    assert main([*asked, *grown, "--hierarchies", "levels"]) == 0
    told = capsys.readouterr().out
    assert "merged along hierarchies: 5 branches of the splits that are kept (k = 5) are 2" in told
    assert "proved: no subtree of the grown tree, opened along hierarchies, that keeps the limits (k = 5)" in told
    found = defend(people(), "optimal", target="y", qi=["country", "odd"], k=5, inducer="id3", max_depth=1)
    assert found.rows[0]["leaves"] == 1
    assert "branches" not in found.rows[0]
    assert main([*asked, "--hierarchies", "levels"]) == 0
    assert (
        "nothing was merged along hierarchies, of the splits that are kept (k = 5); splits of cart"
        in capsys.readouterr().out
    )
    for more, told in (
        (["--criterion", "stated"], "--criterion: expected 'unstated': a split with merged branches was not chosen"),
        (["--grow"], "--hierarchies: expected none for a tree that is grown within limits"),
    ):
        assert main([*asked, "--hierarchies", "levels", *more]) == 2
        assert told in capsys.readouterr().err
    (tmp_path / "levels" / "country.csv").write_text("de;Europe\nfr;Europe\n", encoding="utf-8")
    assert main([*asked, *grown, "--hierarchies", "levels"]) == 2
    assert "expected a row for every value, found none for" in capsys.readouterr().err


def test_merged_branches_are_audited_and_chosen() -> None:
    frame = people()
    asked: Any = {"target": "y", "qi": ["country", "odd"], "k": 5, "inducer": "id3", "max_depth": 2}
    asked |= {"hierarchies": {"country": LEVELS[:-1]}, "max_posterior": 0.85}
    found = defend(frame, "optimal", audited=True, **asked)
    (row,) = found.rows
    assert (row["branches_before"] > row["branches"], row["audits"], row["cut_off"]) == (True, 1, 0)
    assert estimate(found.release, frame[["country", "odd"]], frame).verdict(max_posterior=0.85, min_k=5).passed
    chosen = defend(frame, "optimal", choose=True, **asked)
    assert chosen.rows[0]["criterion"] == "unstated"  # what is merged was not chosen so, and without it nothing is kept
    assert chosen.rows[0]["reached"] == row["reached"]
    tree = OptimalSubtree(k=5, inducer="id3", max_depth=2, max_posterior=0.85, hierarchies=asked["hierarchies"])
    assert tree.fit(frame[["country", "odd"]], frame["y"]).release_.trees == found.release.trees
    coarse = defend(frame, "optimal", complexity_folds=3, **asked).rows[0]
    assert coarse["folds_loss"] <= coarse["folds_loss_without"]
    with pytest.raises(InvalidInput, match="hierarchies: expected a mapping"):
        OptimalSubtree(hierarchies="levels").fit(frame[["country", "odd"]], frame["y"])


def test_a_split_below_which_the_attribute_is_tested_again_stays_as_it_is() -> None:
    a = Attribute("a", "categorical", ("p", "q", "r"))
    leaves = tuple(Node(f"L{i}", label="no", n=6, counts={"yes": 2, "no": 4}) for i in (1, 2, 3, 4))
    once = (Node("N", "a", (Branch("L1", ("p",)), Branch("L2", ("q",)), Branch("L3", ("r",)))), *leaves[:3])
    below = Node("M", "a", (Branch("L1", ("p",)), Branch("L4", ("q", "r"))))
    twice = (replace(once[0], branches=(Branch("M", ("p",)), *once[0].branches[1:])), below, *leaves)
    training = Training(Target("y", ("yes", "no")), (a,), (np.repeat([0, 1, 2], 6),), np.array([1, 0, 1, 1, 0, 1] * 3))
    for nodes, groups in ((once, {"N:x": 2}), (twice, {})):
        release = Release(training.target, (a,), (Tree(nodes),))
        found, merged = opened(release, {"a": [("p", "x"), ("q", "x"), ("r", "y")]}, training, 1)
        assert merged == groups
        assert len(found.trees[0].nodes) == len(nodes) + len(groups)
    with pytest.raises(InvalidInput, match="records, of which branches are merged"):
        optimal_subtree(release, Limits(k=1), hierarchies={"a": [("p", "x"), ("q", "x"), ("r", "y")]})
