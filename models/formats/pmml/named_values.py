"""Values that a document names: in arrays, and those that something compares each field with."""

from __future__ import annotations

from maxent.models.formats.pmml.xml_document import Element


def values_named(root: Element) -> dict[str, dict[str, None]]:
    """The values of each field that something in the document compares it with."""
    found: dict[str, dict[str, None]] = {}
    stack = [root]
    while stack:
        element = stack.pop()
        stack += element.children
        if element.name == "SimplePredicate" and (value := element.get("value")) is not None:
            found.setdefault(element.need("field"), {})[value] = None
        elif element.name == "SimpleSetPredicate":
            array = element.first("Array")
            values = [] if array is None else words_of(array)
            found.setdefault(element.need("field"), {}).update(dict.fromkeys(values))
        elif element.name == "MapValues":
            for pair in element.all("FieldColumnPair"):
                column = pair.need("column").rpartition(":")[2]
                table = element.first("InlineTable")
                rows = () if table is None else tuple(table.all("row"))
                keys = (cell.text for row in rows for cell in row.all(column))
                found.setdefault(pair.need("field"), {}).update(dict.fromkeys(keys))
        elif element.name == "NormDiscrete":
            found.setdefault(element.need("field"), {})[element.need("value")] = None
        elif element.name == "Apply":
            refs = [child.need("field") for child in element.all("FieldRef")]
            values = [child.text for child in element.all("Constant")]
            for name in refs:
                found.setdefault(name, {}).update(dict.fromkeys(values))
    return found


def words_of(array: Element) -> list[str]:
    """The values of an array: words between blanks, or in quotes."""
    found, text, at = [], array.text, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if text[at] == '"':
            end, word = at + 1, []
            while end < len(text) and text[end] != '"':
                end += text[end] == "\\" and text[end + 1 : end + 2] == '"'
                word.append(text[end])
                end += 1
            if end >= len(text):
                array.refuse("Array", "a quote that ends", "none")
            found.append("".join(word))
        else:
            end = at
            while end < len(text) and not text[end].isspace():
                end += 1
            found.append(text[at:end].replace('\\"', '"'))
        at = end + (text[end : end + 1] == '"')
    n = array.get("n")
    if n is not None and n.isdecimal() and len(n) < 9 and int(n) != len(found):
        array.refuse("n", f"{len(found)}, as there are values")
    return found
