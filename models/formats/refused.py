"""Files of models that cannot be read soundly: how each is told, why it is not read, and the way to a better one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from maxent.models.formats.release_reader import Head

_PEEKED = 64  # bytes of a compressed file that show what is in it


@dataclass(frozen=True, slots=True)
class Refusal:
    """A kind of file that is not read: what it is, how a `Head` shows it, and what to do instead."""

    words: str
    recognise: Callable[[Head], bool]
    instead: str


def unpacked(head: Head) -> bytes:
    """The first bytes of a file, of what is in it where it is compressed by gzip or zlib."""
    if head.start[:2] == b"\x1f\x8b" or head.start[:1] == b"\x78":
        try:
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(head.start, _PEEKED)
        except zlib.error:
            return b""
    return head.start[:_PEEKED]


def _is_pickle(head: Head) -> bool:
    start = unpacked(head)
    return (start[:1] == b"\x80" and start[1:2] in (b"\2", b"\3", b"\4", b"\5")) or head.name.endswith(
        (".pkl", ".pickle", ".joblib", ".joblib.gz")
    )


def _is_treelite(head: Head) -> bool:
    """Versions 3 and 4 begin with their three numbers, of 32 bits each."""
    start = head.start[:12]
    return len(start) == 12 and start[0] in (3, 4) and not any(start[i] for i in (1, 2, 3, 5, 6, 7, 9, 10, 11))


def _is_r_data(head: Head) -> bool:
    return unpacked(head)[:2] in (b"X\n", b"A\n", b"RD") or head.name.endswith((".rds", ".rda", ".rdata"))


def _starts(head: Head, pattern: str) -> bool:
    return re.match(pattern, head.text) is not None


# All of them; a file is refused by the first that recognises it, after all readers have been asked
REFUSED = (
    Refusal(
        "a pickle, which could run any code and is not loaded",
        _is_pickle,
        "convert the model in Python, maxent.convert(model) or maxent.from_sklearn(model), or save it with skops, as "
        "PMML or as text (export_text with show_weights=True)",
    ),
    Refusal(
        "R data",
        _is_r_data,
        "in R, print the tree into a text file, capture.output(print(model), file='tree.txt'), or write its frame with "
        "write.csv",
    ),
    Refusal(
        "a serialised object of Java",
        lambda head: head.start.startswith(b"\xac\xed\0\5"),
        "save the text that Weka prints of the model",
    ),
    Refusal(
        "a tree of R's party, whose print has no labels",
        lambda head: _starts(head, r"\s*Conditional inference tree with [0-9]+ terminal nodes"),
        "grow it with partykit::ctree in place of party::ctree, and save what R prints of that",
    ),
    Refusal(
        "what R prints of a forest, which has no trees",
        lambda head: _starts(head, r"\s*(Ranger result\n|Call:\n randomForest\()"),
        'save its trees as tables, in a folder: write.csv(ranger::treeInfo(model, k), "tree1.csv"), for each k, or '
        "randomForest::getTree(model, k, labelVar = TRUE)",
    ),
    Refusal(
        "CatBoost's binary format",
        lambda head: head.start.startswith(b"CBM1"),
        "save the model as JSON: save_model of the model does, with the format json and the training pool",
    ),
    Refusal(
        "CatBoost's program of a model",
        lambda head: re.match(r"###  Model data\r?\nclass catboost_model", head.text) is not None,
        "save the model as JSON: save_model of the model does, with the format json and the training pool",
    ),
    Refusal(
        "a model of npm's ml-cart or ml-random-forest, without names of columns and classes, and without counts",
        lambda head: re.match(r'\{\s*"(options|baseModel)":\s*\{\s*"(gainFunction|indexes)":', head.text) is not None,
        "grow the tree with a program that saves counts, as scikit-learn in PMML or as text",
    ),
    Refusal(
        "a tree of npm's decision-tree, which keeps the training table in it",
        lambda head: (
            re.match(r'\{\s*"(model|data)":[\s\S]{0,400}?"alias":\s*"|\{\s*"data":\s*\[\s*\{', head.text) is not None
        ),
        "grow the tree with a program that saves counts without the records, as scikit-learn in PMML or as text",
    ),
    Refusal(
        "XGBoost's old binary format",
        lambda head: head.start.startswith(b"binf") and b"gb" in head.start[:400],
        "load it with XGBoost up to 2.1 and save it anew: booster.save_model('model.json')",
    ),
    Refusal(
        "a drawing of one of XGBoost's trees, without those before it",
        lambda head: re.match(r"digraph \{\s*graph \[ rankdir=", head.text) is not None,
        "save the model, booster.save_model('model.json'), or dump all trees, dump_model with with_stats=True",
    ),
    Refusal(
        "a print of ydf, which rounds and leaves out where missing values of the training went",
        lambda head: re.match(r'(Type: "[A-Z_]+"\r?\nTask: |Tree #0\r?\n\s*\S.* \[score=)', head.text) is not None,
        "save the model in a folder: model.save of the model",
    ),
    Refusal(
        "a checkpoint of treelite, which only its own library can take apart",
        _is_treelite,
        "in Python, write treelite.Model.deserialize(path).dump_as_json() into a file",
    ),
)


def refusal_of(head: Head) -> Refusal | None:
    """Reason why a file is not read, None when it is of no such kind."""
    return next((refusal for refusal in REFUSED if refusal.recognise(head)), None)
