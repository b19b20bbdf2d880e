"""A release as rules for people to read."""

from __future__ import annotations

from collections.abc import Iterator

from maxent.models.release import Release, Tree
from maxent.models.text.display import counted
from maxent.models.text.printable import printable
from maxent.models.writers.rules import rules_of, statements
from maxent.models.writers.writer import Wanted, Writer


def write_rules(release: Release, wanted: Wanted) -> str:
    """A rule for each leaf, ``IF ... THEN``, with what the leaf states."""
    del wanted
    return "\n".join(_lines(release)) + "\n"


def _lines(release: Release) -> Iterator[str]:
    named = {node.attribute for tree in release.trees for node in tree.nodes}
    tested = [printable(a.name) for a in release.attributes if a.name in named]
    yield f"{printable(release.target.name)}, predicted from {', '.join(tested) or 'nothing'}"
    if release.rounded is not None:
        yield release.rounded.in_words
    for position, tree in enumerate(release.trees, 1):
        if len(release.trees) > 1:
            yield ""
            yield f"Tree {position}{_of_tree(tree)}"
        yield ""
        rules = [*rules_of(release, tree)]
        yield counted(len(rules), "rule")
        for rule in rules:
            yield ""
            yield printable(f"IF {rule}")
            removed = rule.place >= len(tree.nodes)
            said = [] if removed else statements(rule.node)
            answer = "a removed leaf" if removed else rule.node.label or "no label"
            yield printable(f"THEN {answer}" + (f" ({'; '.join(said)})" if said else ""))


def _of_tree(tree: Tree) -> str:
    of_class = "" if tree.of_class is None else f", of class {printable(tree.of_class)}"
    return of_class + ("" if tree.weight == 1 else f", weight {tree.weight:g}")


WRITER = Writer("rules", ".txt", "rules, one for each leaf", write_rules)
