"""Names of values and classes in releases that look alike, or are to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import RepeatedKeys
from maxent.models.formats.maxent_json.fields import foreign_problem
from maxent.models.reading import Reader
from maxent.models.release_content import Content
from maxent.models.tables.frame import listed
from maxent.models.text.arguments import name as shown
from maxent.models.text.spelling import cleaned, folded, spelled_alike, told_apart

_NAMED = 3  # groups of names, and names of a group, that are spelled out


def check_names(release: Content, source: str, reader: Reader) -> None:
    """Refuse values, and classes, that differ only by blanks or Unicode form; note those that differ only by case.

    Where text is ``exact`` there is nothing to say.
    """
    if reader.reading.text == "exact":
        return
    problems: list[Problem] = []
    for where, field, names in _domains(release):
        groups = spelled_alike(names, cleaned)
        expected = f"{field} that differ by more than blanks or Unicode form (text='exact' reads them as different)"
        found = (Problem(where, field, expected, _named(group)) for group in groups)
        problems += listed(found, len(groups), field)
        for group in spelled_alike({cleaned(name): name for name in names}.values(), folded)[:_NAMED]:
            reader.note(source, f"{where}: {_named(group)} differ only by case, and are read as different names")
    if problems:
        raise InvalidInput(source, problems)


def _domains(release: Content) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Declarations of names that must be told apart."""
    yield "target", "classes", release.target.classes
    for attribute in release.attributes:
        if attribute.values is not None:
            yield f"attribute {shown(attribute.name)}", "values", attribute.values


def _named(group: Sequence[str]) -> str:
    return " and ".join(map(told_apart, group[:_NAMED]))


# --- Cleaned names ---------------------------------------------------------------------------------------------


def cleaned_document(document: Mapping[str, object], source: str) -> dict[str, object]:
    """Return a decoded document with all names of values and classes cleaned; those of columns stay as they are.

    What is not as it should be stays as it is, to be refused by those who read it.
    """
    if foreign_problem(document):
        return dict(document)  # refused where it is read, without a word of what is in it
    problems: list[Problem] = []
    found = dict(document)
    target = found.get("target")
    if isinstance(target, dict):
        found["target"] = _with_names(target, "classes", "target", problems)
    attributes = found.get("attributes")
    if isinstance(attributes, list):
        found["attributes"] = [_attribute(entry, i, problems) for i, entry in enumerate(attributes, 1)]
    trees = found.get("trees")
    if isinstance(trees, list):
        found["trees"] = [_tree(entry) for entry in trees]
    boosting = found.get("boosting")
    if type(boosting) is dict:
        found["boosting"] = boosting | {
            key: _keys(boosting[key]) for key in ("base", "penalties", "weights") if key in boosting
        }
    if problems:
        raise InvalidInput(source, problems)
    return found


def _attribute(entry: object, number: int, problems: list[Problem]) -> object:
    where = entry.get("name") if isinstance(entry, dict) else None
    place = f"attribute {shown(where)}" if isinstance(where, str) else f"attribute number {number}"
    return _with_names(entry, "values", place, problems)


def _with_names(entry: object, key: str, where: str, problems: list[Problem]) -> object:
    """An object with a list of names cleaned."""
    if type(entry) is not dict or not isinstance(entry.get(key), list):  # others are refused by those who read them
        return entry
    texts = [name for name in entry[key] if isinstance(name, str)]
    expected = f"{key} that are still different when text is stripped: labels, rates and splits are about each"
    problems += [Problem(where, key, expected, _named(group)) for group in spelled_alike(texts, cleaned)]
    return entry | {key: _cleaned(entry[key])}


def _cleaned(value: object) -> object:
    """A text cleaned, and a list with its texts cleaned."""
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return cleaned(value) if isinstance(value, str) else value


def _keys(stated: object) -> object:
    """An object with its keys cleaned; anything else unchanged."""
    if type(stated) is not dict:
        return stated
    pairs = [(cleaned(name), value) for name, value in stated.items()]
    return dict(pairs) if len(dict(pairs)) == len(pairs) else RepeatedKeys(pairs)


def _tree(tree: object) -> object:
    if type(tree) is not dict or not isinstance(tree.get("nodes"), list):
        return tree
    named = {"class": _cleaned(tree["class"])} if "class" in tree else {}
    return tree | named | {"nodes": [_node(node) for node in tree["nodes"]]}


def _node(node: object) -> object:
    """A node with the names in it cleaned; its id is none."""
    if type(node) is not dict:
        return node
    found = node | ({"label": _cleaned(node["label"])} if "label" in node else {})
    for key in ("counts", "rates", "value"):
        if key in node:
            found[key] = _keys(node[key])
    branches = node.get("branches")
    if isinstance(branches, list):
        found["branches"] = [b | {"in": _cleaned(b["in"])} if type(b) is dict and "in" in b else b for b in branches]
    return found
