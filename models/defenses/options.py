"""What is wrong with the options of a defense, whatever the data are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from maxent.models.defenses.error_risk.prune import ERP, Rule
from maxent.models.defenses.kadet.parameters import Kadet, kadet_problems
from maxent.models.defenses.random_trees.method import RDT
from maxent.models.defenses.registry import METHODS, Published, listed
from maxent.models.errors import Problem
from maxent.models.records.generalize import Distance, Generalization
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import is_whole, up_to_largest
from maxent.models.trees.draft import Publish


def option_problems(
    method: str, k: object, publish: str, inducer: str | None, min_samples_leaf: object, asked: Kadet
) -> Iterator[Problem]:
    """What no data would make right; what is wrong with the growth of the tree comes on top."""
    if method not in METHODS:
        yield Problem("argument", "method", f"one of {', '.join(METHODS)}", shorten(method))
    elif k is not None and not METHODS[method].has_k:
        yield Problem(
            "argument",
            "k",
            f"none for the method {method}, which makes no leaf larger",
            ", ".join(map(shorten, listed(k))),
        )
    if not listed(k):
        yield Problem("argument", "k", "at least one whole number of records", "none")
    least = 0 if method == RDT else 1
    for each in listed(k):
        if not is_whole(each, least):
            expected = up_to_largest(f"whole numbers of records, at least {least}", each)
            yield Problem("argument", "k", expected, shorten(each))
    if publish not in get_args(Published):
        yield Problem("argument", "publish", f"one of {', '.join(get_args(Published))}", shorten(publish))
    if method == "kadet":
        inducers = METHODS[method].inducers
        if inducer is not None and inducer not in inducers:
            yield Problem("argument", "inducer", f"one of {', '.join(inducers)} for kadet", shorten(inducer))
        if min_samples_leaf is not None:
            yield Problem("argument", "min_samples_leaf", "none for kadet: k= says it", shorten(min_samples_leaf))
        own = ("l", "alpha", "diversity", "hierarchies", "class_public", "l and alpha")
        yield from (problem for problem in kadet_problems(asked) if problem.field in own)
    elif method in METHODS:
        plain = Kadet()
        for name in ("l", "alpha", "diversity", "hierarchies", "class_public"):
            if getattr(asked, name) != getattr(plain, name):
                expected = f"none for the method {method}: it is an option of kadet"
                yield Problem("argument", name, expected, shorten(getattr(asked, name)))


def erp_problems(
    method: str, publish: str, rule: object, distance: object, generalization: object, test: object
) -> Iterator[Problem]:
    """What is wrong with options of error-risk pruning, and of records in place of a tree."""
    records = publish == "records"
    if method in METHODS and records and METHODS[method].generalize is None:
        can = ", ".join(name for name, m in METHODS.items() if m.generalize is not None)
        expected = f"{', '.join(get_args(Publish))} for the method {method}: only {can} can publish records"
        yield Problem("argument", "publish", expected, "records")
    chosen = (
        ("rule", rule, Rule),
        ("distance", distance, Distance),
        ("generalization", generalization, Generalization),
    )
    for name, value, choices in ((name, value, get_args(kind)) for name, value, kind in chosen):
        if value is not None and value not in choices:
            yield Problem("argument", name, f"one of {', '.join(choices)}", shorten(value))
    if rule is not None and method in METHODS and method != ERP:
        yield Problem("argument", "rule", f"none for the method {method}: it is an option of {ERP}", shorten(rule))
    elif rule is not None and records and generalization != "uniform":
        expected = "none for records in tiers, which do not depend on how trees are pruned"
        yield Problem("argument", "rule", expected, shorten(rule))
    if distance is not None and (not records or generalization == "uniform"):
        expected = "none but for records in tiers, of which it finds neighbours"
        yield Problem("argument", "distance", expected, shorten(distance))
    if generalization is not None and not records:
        yield Problem("argument", "generalization", "none but for records", shorten(generalization))
    if test is not None and records:
        yield Problem("argument", "test", "none for records, which do not predict", shorten(test))
