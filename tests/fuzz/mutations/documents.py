"""Documents with something wrong in their structure: JSON and the like, as trees of lists and objects."""

import copy
import json
from typing import Any

from fuzz.case import Dice
from fuzz.mutations.values import NUMBERS, TEXTS


class Raw(str):
    """A literal that is written as it is."""


class Pairs(dict):
    """An object with more pairs than keys: ``more`` are written behind its own."""

    more: tuple[tuple[str, Any], ...] = ()


DEEP = (5, 9, 40, 2_000, 100_000)  # Levels of what is nested


def as_json(value: Any) -> bytes:
    """The text of a document; lone surrogates are escaped, or bytes that are no UTF-8."""
    return "".join(_written(value)).encode("utf-8", "surrogatepass")


def _written(value: Any) -> Any:
    if isinstance(value, Raw):
        yield str(value)
    elif isinstance(value, dict):
        pairs = [*value.items(), *getattr(value, "more", ())]
        yield "{"
        for i, (key, each) in enumerate(pairs):
            yield f"{', ' if i else ''}{json.dumps(key)}: "
            yield from _written(each)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for i, each in enumerate(value):
            yield ", " if i else ""
            yield from _written(each)
        yield "]"
    else:
        yield json.dumps(value)


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: the list or object, and the index or key."""
    found, rest = [], [document]
    while rest:
        at = rest.pop()
        inner = list(at.items()) if isinstance(at, dict) else list(enumerate(at)) if isinstance(at, list) else []
        found += [(at, key) for key, _ in inner]
        rest += [each for _, each in inner]
    return found


def odd(dice: Dice) -> Any:
    """A value that hardly fits anywhere."""
    kind = dice.randrange(10)
    if kind < 4:
        return Raw(dice.choice(NUMBERS))
    if kind < 7:
        return dice.choice(TEXTS)
    if kind < 9:
        return dice.choice([None, True, False, [], {}, [[]], [{}], {"": None}, [None], [1, "1", 1.0], {"a": 1}])
    depth = dice.choice(DEEP)
    return Raw(dice.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth]))


def changed(document: Any, dice: Dice, times: int = 1) -> Any:
    """A copy of a document with something changed, as often as asked."""
    document = copy.deepcopy(document)
    for _ in range(times):
        at, key = dice.choice(places(document))
        document = dice.choice(CHANGES)(document, at, key, dice)
    return document


def _replace(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    at[key] = odd(dice)
    return document


def _nudge(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """Another number, or another text that is much like it."""
    value = at[key]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or isinstance(value, Raw):
        return _replace(document, at, key, dice)
    if isinstance(value, str):
        one = value[: (i := dice.randrange(len(value) + 1))] + value[i + 1 :]
        like = [one, value + " ", " " + value, value.upper(), value * 2, value + dice.choice(TEXTS), value[::-1]]
        at[key] = dice.choice(like)
    else:
        at[key] = dice.choice([value + 1, value - 1, -value, value * 2, value / 2, value * 1e300, value + 1e-9])
    return document


def _drop(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    del at[key]
    return document


def _repeat(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """The same again, in a list, or under the same key with another value."""
    if isinstance(at, list):
        at.insert(dice.randrange(len(at) + 1), copy.deepcopy(at[key]))
        return document
    twice = Pairs(at)
    twice.more = ((key, odd(dice) if dice.chance(0.5) else copy.deepcopy(at[key])),)
    return _put(document, at, twice)


def _retag(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """Another key, or another place in the list."""
    value = at.pop(key)
    if isinstance(at, list):
        at.insert(dice.randrange(len(at) + 1), value)
    else:
        known = [other for _, other in places(document) if isinstance(other, str)] or ["x"]
        at[dice.choice([dice.choice(known), dice.choice(TEXTS), key[1:], key + "s", key.upper()])] = value
    return document


def _swap(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """Contents of two places exchanged: of two leaves, two nodes, or a leaf and its container."""
    other, where = dice.choice(places(document))
    other[where] = copy.deepcopy(at[key])
    return document


def _wrap(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    at[key] = dice.choice([lambda v: [v], lambda v: {"value": v}, lambda v: [v, v], str, lambda v: json.dumps(str(v))])(
        at[key]
    )
    return document


def _many(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """A list or an object of very many."""
    number = dice.choice([10, 300, 5_000])
    at[key] = dice.choice([[copy.deepcopy(at[key])] * min(number, 300), list(map(str, range(number)))])
    return document


def _put(document: Any, old: Any, new: Any) -> Any:
    """The document with a part replaced by another."""
    if old is document:
        return new
    for at, key in places(document):
        if at[key] is old:
            at[key] = new
    return document


CHANGES = (_replace, _replace, _nudge, _nudge, _nudge, _drop, _drop, _repeat, _retag, _swap, _swap, _wrap, _many)
