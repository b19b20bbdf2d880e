"""Changes to the elements of XML, which stays well-formed."""

import xml.etree.ElementTree as ET
from collections.abc import Callable

from fuzz.case import Dice

ODD = (
    "",
    "0",
    "-1",
    "1",
    "2",
    "0.5",
    "NaN",
    "INF",
    "-INF",
    "1e400",
    "9" * 400,
    "x" * 5_000,
    "true",
    "\u00a0",
    "(missing)",
)


def as_xml(content: bytes, dice: Dice) -> bytes:
    """A document with an element or an attribute changed; raises what the parser does where it is none."""
    root = ET.fromstring(content)
    dice.choice(CHANGES)(root, dice)
    return ET.tostring(root, encoding="utf-8")


def _parent(root: ET.Element, dice: Dice) -> ET.Element:
    return dice.choice([element for element in root.iter() if len(element)])


def _drop(root: ET.Element, dice: Dice) -> None:
    parent = _parent(root, dice)
    parent.remove(parent[dice.randrange(len(parent))])


def _twice(root: ET.Element, dice: Dice) -> None:
    parent = _parent(root, dice)
    at = dice.randrange(len(parent))
    for _ in range(dice.choice([1, 1, 1, 40])):
        parent.insert(at, parent[at])


def _swap(root: ET.Element, dice: Dice) -> None:
    parent = _parent(root, dice)
    a, b = dice.randrange(len(parent)), dice.randrange(len(parent))
    parent[a], parent[b] = parent[b], parent[a]


def _graft(root: ET.Element, dice: Dice) -> None:
    """A copy of an element somewhere else, perhaps within itself."""
    copy = ET.fromstring(ET.tostring(dice.choice(list(root.iter())[1:])))
    parent = _parent(root, dice)
    parent.insert(dice.randrange(len(parent) + 1), copy)


def _rename(root: ET.Element, dice: Dice) -> None:
    elements = list(root.iter())
    dice.choice(elements).tag = dice.choice(elements).tag


def _attribute(root: ET.Element, dice: Dice) -> None:
    """Another value of an attribute: one of the document, or an odd one."""
    elements = [element for element in root.iter() if element.attrib]
    element = dice.choice(elements)
    key = dice.choice(sorted(element.attrib))
    values = sorted({value for other in elements for value in other.attrib.values()})
    element.set(key, dice.choice(values) if dice.chance(0.6) else dice.choice(ODD))


def _without(root: ET.Element, dice: Dice) -> None:
    element = dice.choice([element for element in root.iter() if element.attrib])
    del element.attrib[dice.choice(sorted(element.attrib))]


def _lend(root: ET.Element, dice: Dice) -> None:
    """An attribute that another element has."""
    elements = [element for element in root.iter() if element.attrib]
    key, value = dice.choice(sorted(dice.choice(elements).attrib.items()))
    dice.choice(elements).set(key, value)


def _text(root: ET.Element, dice: Dice) -> None:
    elements = [element for element in root.iter() if (element.text or "").strip()] or [root]
    dice.choice(elements).text = dice.choice(ODD)


CHANGES: tuple[Callable[[ET.Element, Dice], None], ...] = (
    *(_drop, _twice, _swap, _graft, _rename, _attribute, _attribute, _attribute, _without, _lend, _text),
)
