"""Fast reader of sound `maxent/1` documents: msgspec decodes into arrays, a million nodes in a second.

What is not as it should be, in the least, is left to `maxent.models.formats.maxent_json.parse`, which says what it is.
msgspec checks types, unknown keys and numbers that are too large. It lets repeated keys pass: the last one counts. So
keys are counted: a document has a colon behind each key, and those in its strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
import numpy as np

from maxent.models.arguments import LARGEST_COUNT
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import json_object, uncollected
from maxent.models.formats.maxent_json.batch import BATCH, NAN, Codes, Doubtful, are_each_sound, batch_of, joined
from maxent.models.formats.maxent_json.parse import Fields, Names, parse_head, parse_tree_head
from maxent.models.formats.maxent_json.rules import HEAD, draft_of, problems_of
from maxent.models.release import Content, Tree

# Nodes as they are written in a document. A key that is not there has the default of `WrittenNode`, which no sound
# document states; one that states it has more colons than keys.

_Id = Annotated[str, msgspec.Meta(min_length=1)]
_Whole = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
_Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Branch(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A branch as it is written."""

    child: str | None
    values: tuple[str, ...] = msgspec.field(default=(), name="in")
    le: float = NAN
    gt: float = NAN
    missing: bool = NOTHING  # type: ignore[assignment]


class _Node(msgspec.Struct, gc=False, frozen=True, forbid_unknown_fields=True):
    """A node as it is written."""

    id: _Id
    attribute: str = ""
    branches: tuple[_Branch, ...] = ()
    label: str = ""
    error_rate: _Rate = NAN
    n: _Whole = NOTHING
    distinct: _Whole = NOTHING
    counts: dict[str, _Whole] | None = None
    value: float = NAN


class _RareNode(_Node, gc=False, frozen=True, forbid_unknown_fields=True):
    """A node that may state what few documents do."""

    value: float | dict[str, float] = NAN  # type: ignore[assignment]
    rates: dict[str, _Rate] | None = None
    hessian: float = NAN
    mean: float = NAN
    variance: float = NAN
    part_of: str = ""


class _NoisyNode(_RareNode, gc=False, frozen=True, forbid_unknown_fields=True):
    """A node of a release with noise in its counts."""

    counts: dict[str, float] | None = None  # type: ignore[assignment]


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

# The first is faster; the second for what few documents state, the third for noise
_PLAIN, _RARE, _NOISY = (msgspec.json.Decoder(list[kind]) for kind in (_Node, _RareNode, _NoisyNode))  # type: ignore[valid-type]

# Where a node begins, as most are written; elsewhere only counts do, those of a class of this name
_START = re.compile(rb'\{"id":')


@uncollected()
def read_typed(data: bytes) -> Content | None:
    """The release that a sound document describes, with its nodes as arrays; None when something may be wrong.

    Whatever it reads, `maxent.models.formats.maxent_json.rules.checked_release` reads as an equal release.
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
    batches = _batches(document.trees, codes, [_NOISY] if codes.noisy else [_PLAIN, _RARE])
    read = joined([batch_of(nodes, tree_ends, codes) for nodes, tree_ends in batches])
    draft = draft_of(replace(content, trees=tuple(map(head_of.__getitem__, heads))), read)
    keys = read.keys + len(stated) + 1 + sum(len(head) + 1 for head in heads)
    del read  # its lists are large
    if not are_each_sound(draft.nodes, content.noise) or any(problems_of(draft)):
        raise Doubtful
    above = [text for head in (stated, *heads) for _, text in head]
    # All colons are fewer steps, and as many as keys unless nodes have some in their names.
    if not any(colons(data) == keys + sum(map(colons, above)) for colons in (_colons, _colons_outside)):
        raise Doubtful
    return draft.release


def _decoded(head: _Head) -> dict[str, object]:
    """Keys with what stands there, decoded by the careful reader."""
    return json_object(b"{%s}" % b",".join(b'"%s":%s' % (key.encode(), text) for key, text in head), "")


def _colons(text: bytes) -> int:
    return text.count(b":")


def _colons_outside(text: bytes) -> int:
    """The colons of a document that are in none of its strings."""
    marks = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _UNMARKED)
    codes = np.frombuffer(marks, np.uint8)
    return int(np.count_nonzero((codes == ord(":")) > np.logical_xor.accumulate(codes == ord('"'))))


_UNMARKED = bytes({*range(256)} - {*b'":'})


def _tree(head: _Head, names: Names) -> Tree:
    """A tree but for its nodes."""
    problems: list[Problem] = []
    found = parse_tree_head(Fields(problems, "", _decoded(head), HEAD), "", names)
    if problems:
        raise Doubtful
    return found


def _batches(
    trees: Sequence[_Tree], codes: Codes, decoders: list[msgspec.json.Decoder[Any]]
) -> Iterator[tuple[list[_Node], list[int]]]:
    """The nodes of all trees, in their order, and where trees end among them: not many nodes at a time."""
    if not trees:
        raise Doubtful
    nodes: list[_Node] = []
    ends: list[int] = []
    for tree in trees:
        text = memoryview(tree.nodes)
        at_once = text.nbytes < LARGE or "id" in codes.classes
        for part in [_some(text, decoders)] if at_once else _parts(text, decoders):
            if len(nodes) >= BATCH or (nodes and part and type(nodes[0]) is not type(part[0])):
                yield nodes, ends
                nodes, ends = [], []
            if not part:
                raise Doubtful
            nodes += part
        ends.append(len(nodes))
    yield nodes, ends


def _some(text: bytes | memoryview, decoders: list[msgspec.json.Decoder[Any]]) -> list[Any]:
    """Nodes, by the first of some decoders that takes them: those before it go."""
    while True:
        try:
            return decoders[0].decode(text)  # type: ignore[no-any-return]
        except msgspec.ValidationError:
            if len(decoders) == 1:
                raise
            del decoders[0]


def _parts(text: memoryview, decoders: list[msgspec.json.Decoder[Any]]) -> Iterator[Sequence[Any]]:
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
        yield _some(b"".join((b"[" * (begin > 0), part, b"]" * (end < len(text)))), decoders)
        begin = end
