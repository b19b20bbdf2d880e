"""Documents without anything wrong in them, decoded by msgspec into arrays: a million nodes in a second.

What is not as it should be, in the least, is left to `maxent.models.formats.maxent_json.parse`, which says what it is.
msgspec checks types, unknown keys and numbers that are too large. It lets repeated keys pass: the last one counts. So
keys are counted: a document has a colon for each key, and those in its strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import msgspec

from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import json_object, uncollected
from maxent.models.formats.maxent_json.check_counts import Publication
from maxent.models.formats.maxent_json.fields import Fields, Names
from maxent.models.formats.maxent_json.parse import parse_head, parse_tree_head
from maxent.models.formats.maxent_json.typed.nodes import (
    Batch,
    Codes,
    Doubtful,
    PlainNode,
    WrittenNode,
    batch_of,
    joined,
    linked,
    plain_node,
)
from maxent.models.formats.maxent_json.typed.numbers import sound_answers, sound_parts
from maxent.models.formats.maxent_json.typed.sound import are_sound
from maxent.models.nodes import Nodes
from maxent.models.release_content import Content, Tree

BATCH = 2**11  # nodes that are objects at the same time: few enough for the caches of a processor
PIECE = 2**18  # bytes of about as many nodes
LARGE = 2**24  # bytes of the nodes of a tree from which on they are decoded in pieces
_MARK = b"\xef\xbb\xbf"


class _Tree(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A tree as it is written."""

    nodes: msgspec.Raw
    induction: msgspec.Raw = msgspec.Raw()
    weight: msgspec.Raw = msgspec.Raw()
    of_class: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="class")

    @property
    def head(self) -> _Head:
        """The text of each key but nodes."""
        return _stated({"induction": self.induction, "weight": self.weight, "class": self.of_class})


_Head = tuple[tuple[str, bytes], ...]  # keys, and the text of what stands there


def _stated(found: Mapping[str, msgspec.Raw]) -> _Head:
    """The keys that are there."""
    return tuple((key, bytes(text)) for key, text in found.items() if memoryview(text).nbytes)


class _Document(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A document as it is written."""

    format: msgspec.Raw
    target: msgspec.Raw
    attributes: msgspec.Raw
    trees: tuple[_Tree, ...]
    release: msgspec.Raw = msgspec.Raw()
    predicts: msgspec.Raw = msgspec.Raw()
    boosting: msgspec.Raw = msgspec.Raw()
    labels: msgspec.Raw = msgspec.Raw()

    @property
    def head(self) -> _Head:
        """The text of each key but trees."""
        return _stated({key: getattr(self, key) for key in self.__struct_fields__ if key != "trees"})


_DOCUMENT = msgspec.json.Decoder(_Document)
_NODES = msgspec.json.Decoder(list[WrittenNode])
_Nodes = msgspec.json.Decoder[list[PlainNode]] | msgspec.json.Decoder[list[WrittenNode]]

# Where a node begins, as most are written; elsewhere only counts do, those of a class of this name
_START = re.compile(rb'\{"id":')


@uncollected()
def read_typed(data: bytes) -> Content | None:
    """The release that a sound document describes, with its nodes as arrays; None when something may be wrong.

    Whatever it reads, `maxent.models.formats.maxent_json.check_tree.checked_release` reads as an equal release.

    ``data``: a file: JSON in UTF-8, with or without a byte order mark.
    """
    try:
        return _release(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidInput, LookupError):
        return None


def _release(data: bytes) -> Content:
    """The release of a sound document, else one of the errors that `read_typed` catches."""
    document = _DOCUMENT.decode(memoryview(data)[len(_MARK) :] if data.startswith(_MARK) else data)
    stated = document.head
    problems: list[Problem] = []
    parsed = parse_head(_decoded(stated), problems)
    if parsed is None or problems:
        raise Doubtful
    _, content, names = parsed
    heads = [tree.head for tree in document.trees]
    head_of = {head: _tree(head, names) for head in set(heads)}
    codes = Codes.of(content)
    try:
        plain = msgspec.json.Decoder(list[plain_node(content.target.classes)])  # type: ignore[misc]
        read = _read(document.trees, codes, plain)
    except msgspec.ValidationError:
        read = _read(document.trees, codes, _NODES)
    nodes = linked(content, names, read)
    if not are_sound(nodes, read.tree_ends, Publication.of(content)):
        raise Doubtful
    keys = len(stated) + 1 + sum(len(head) + 1 for head in heads) + read.keys
    colons = sum(text.count(b":") for head in (stated, *heads) for _, text in head)
    if data.count(b":") != keys + colons:
        # Each id but those of roots is written twice, at its node and at the branch that leads there.
        roots = [nodes.ids[start] for start in read.tree_ends[:-1].tolist()]
        colons += read.colons + 2 * _colons(nodes.ids) - _colons(roots)
        escaped = b"\\u003a" in data or b"\\u003A" in data
        if escaped or data.count(b":") != keys + colons:
            raise Doubtful
    bounds = pairwise(read.tree_ends.tolist())
    trees = tuple(
        replace(head_of[head], nodes=Nodes(nodes.between(begin, end)))
        for (begin, end), head in zip(bounds, heads, strict=True)
    )
    release = replace(content, trees=trees)
    if not (sound_answers(release, nodes) and sound_parts(nodes, read.tree_ends, content.labels)):
        raise Doubtful
    return release


def _decoded(head: _Head) -> dict[str, object]:
    """Keys with what stands there, decoded by the careful reader."""
    return json_object(b"{%s}" % b",".join(b'"%s":%s' % (key.encode(), text) for key, text in head), "")


def _colons(texts: Iterable[str]) -> int:
    """The colons in texts."""
    return sum(text.count(":") for text in texts)


def _tree(head: _Head, names: Names) -> Tree:
    """A tree but for its nodes."""
    problems: list[Problem] = []
    found = parse_tree_head(Fields(problems, "", _decoded(head), ("induction", "weight", "class")), "", names)
    if problems:
        raise Doubtful
    return found


def _read(trees: Sequence[_Tree], codes: Codes, decoder: _Nodes) -> Batch:
    """The nodes of all trees as columns."""
    return joined([batch_of(nodes, tree_ends, codes) for nodes, tree_ends in _batches(trees, codes, decoder)])


def _batches(trees: Sequence[_Tree], codes: Codes, decoder: _Nodes) -> Iterator[tuple[list[PlainNode], list[int]]]:
    """The nodes of all trees, in their order, and where trees end among them: not many nodes at a time."""
    if not trees:
        raise Doubtful
    nodes: list[PlainNode] = []
    ends: list[int] = []
    for tree in trees:
        text = memoryview(tree.nodes)
        at_once = text.nbytes < LARGE or "id" in codes.classes
        for part in [decoder.decode(text)] if at_once else _parts(text, decoder):
            if len(nodes) >= BATCH:
                yield nodes, ends
                nodes, ends = [], []
            if not part:
                raise Doubtful
            nodes += part
        ends.append(len(nodes))
    yield nodes, ends


def _parts(text: memoryview, decoder: _Nodes) -> Iterator[Sequence[PlainNode]]:
    """The nodes of a tree, which are a list with commas between them, not many at a time."""
    begin, end = 0, 0
    while end < len(text):
        found = _START.search(text, begin + PIECE)
        end = found.start() if found else len(text)
        part, comma = bytes(text[begin:end]), b""
        if found:
            part, comma = part.rstrip(b" \t\r\n,"), part[len(part.rstrip(b" \t\r\n,")) :].strip()
            if comma != b",":
                raise Doubtful
        yield decoder.decode(b"".join((b"[" * (begin > 0), part, b"]" * (end < len(text)))))
        begin = end
