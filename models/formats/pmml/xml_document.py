"""XML as light elements: no document type, so no entities and nothing from elsewhere; depth and size bounded.

The parser is Python's own, which looks nothing up: the document is its one input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn
from xml.parsers import expat

from maxent.models.arguments import shorten
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.json_files import uncollected

DEEPEST = 2_000  # elements within each other

# Elements that say nothing of what a model does
_SKIPPED = frozenset({"Extension", "ModelExplanation", "ModelStats", "ModelVerification", "Timestamp"})


@dataclass(slots=True, eq=False)
class Element:
    """An element: its name without prefix, attributes as names and values in turn, its children, text, and line."""

    source: str
    name: str
    line: int
    pairs: tuple[str, ...] = ()
    children: tuple[Element, ...] = ()
    text: str = ""

    @property
    def where(self) -> str:
        """The place of an element in messages."""
        return f"line {self.line}, {shorten(self.name)}"

    def get(self, key: str) -> str | None:
        """The value of an attribute, None without it."""
        pairs = self.pairs
        for at in range(0, len(pairs), 2):
            if pairs[at] == key:
                return pairs[at + 1]
        return None

    def need(self, key: str) -> str:
        """The value of an attribute that has to be there."""
        found = self.get(key)
        if found is None:
            self.refuse(key, "a value")
        return found

    def refuse(self, field: str, expected: str, found: str | None = None) -> NoReturn:
        """Raise the error of an attribute, or of a child."""
        if found is None:
            value = self.get(field)
            found = "nothing" if value is None else shorten(value)
        raise invalid(self.source, self.where, field, expected, found)

    def choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        """The value of an attribute that is one of some."""
        found = self.get(key)
        if found is None:
            return default
        if found not in known:
            self.refuse(key, f"one of {', '.join(known)}")
        return found

    def number(self, key: str, default: float | None = None) -> float:
        """The finite number of an attribute."""
        text = self.get(key)
        if text is None and default is not None:
            return default
        found = number_in(text or "")
        if found is None:
            self.refuse(key, "a finite number")
        return found

    def all(self, *names: str) -> Iterator[Element]:
        """The children of some names."""
        return (child for child in self.children if child.name in names)

    def first(self, *names: str) -> Element | None:
        """The first child of some names."""
        return next(self.all(*names), None)

    def one(self, *names: str) -> Element:
        """The one child of some names."""
        found = list(self.all(*names))
        if len(found) != 1:
            self.refuse(names[0], f"one {' or '.join(names)}", str(len(found)))
        return found[0]


def number_in(text: str) -> float | None:
    """The finite number that a text is, None when it is none."""
    try:
        found = float(text) if len(text) < 400 and "_" not in text else float("nan")
    except ValueError:
        return None
    return found if isfinite(found) else None


class _Handler:
    """Makes elements as they end; those that are open are kept by their children, the text of the innermost too."""

    def __init__(self, source: str, parser: expat.XMLParserType) -> None:
        self._source, self._parser = source, parser
        self._open: list[tuple[Element, list[Element]]] = []
        self._text: list[str] = []
        self._skipped = 0
        self.root: Element | None = None

    def start(self, name: str, pairs: list[str]) -> None:
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
            return
        line = self._parser.CurrentLineNumber
        if len(self._open) >= DEEPEST:
            raise invalid(
                self._source, f"line {line}", "depth", f"at most {DEEPEST} elements within each other", "more"
            )
        words = tuple(sys.intern(word) if len(word) < 64 else word for word in pairs)
        self._open.append((Element(self._source, sys.intern(name.rpartition(":")[2]), line, words), []))
        self._text.clear()

    def end(self, _: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        element, children = self._open.pop()
        if children:
            element.children = tuple(children)
        elif self._text:
            element.text = "".join(self._text).strip()
        self._text.clear()
        if self._open:
            self._open[-1][1].append(element)
        else:
            self.root = element

    def words(self, text: str) -> None:
        if not self._skipped:
            self._text.append(text)

    def document_type(self, *_: object) -> NoReturn:
        line = self._parser.CurrentLineNumber
        raise invalid(self._source, f"line {line}", "DOCTYPE", "no document type, which could name entities", "one")


@uncollected()
def parse_xml(data: bytes, source: str) -> Element:
    """The root of a document."""
    parser = expat.ParserCreate()
    handler = _Handler(source, parser)
    parser.ordered_attributes = True
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = handler.start, handler.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = handler.words, handler.document_type
    try:
        parser.Parse(data, True)
    except InvalidInput:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter of encodings that Python does not know
        place = f"line {getattr(error, 'lineno', parser.CurrentLineNumber)}"
        reason = expat.ErrorString(error.code) if isinstance(error, expat.ExpatError) else "unknown encoding"
        raise invalid(source, place, "XML", f"well-formed XML ({reason})", "other text") from None
    if handler.root is None:
        raise invalid(source, "document", "content", "an element", "nothing")
    return handler.root
