"""Documents are read alike by the decoder into arrays and by the reader that words what is wrong."""

import copy
import gc
import json
import pickle
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from fuzz import releases
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import cases, thorough

from maxent.api.audit import audit
from maxent.models.columns import NOTHING, Columns, SparseCounts
from maxent.models.errors import InvalidInput
from maxent.models.files.json_files import json_object, uncollected
from maxent.models.formats.assemble import packed
from maxent.models.formats.maxent_json import read, typed
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.rules import checked_release, read_draft
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.formats.maxent_json.write import check_release, release_to_document
from maxent.models.formats.registry import load_release
from maxent.models.nodes import Nodes, attributes_of, links_of, nodes_at, state_scores, statements_of
from maxent.models.release import Node, Release


def carefully(data):
    """What the careful reader makes of a document, None when it refuses it."""
    try:
        return checked_release(json_object(data, "tree.json"), "tree.json")
    except InvalidInput:
        return None


def alike(data):
    """What both readers make of a document, None when they refuse it."""
    fast, careful = typed.read_typed(data), carefully(data)
    assert fast == careful, data
    assert repr(fast) == repr(careful), data
    return fast


def disagreements(cases):
    for number in cases:
        files = releases.case(number).files
        for data in (files["tree.json"], files["before.json"]):
            if typed.read_typed(data) != carefully(data):
                yield number


@pytest.mark.parametrize("cases", [range(300), pytest.param(range(300, 4_000), marks=pytest.mark.slow)], ids=str)
def test_both_readers_accept_the_same_documents(cases):
    assert not list(disagreements(cases))


def judged(document):
    """Whether arrays of what a document says may be written, and whether the document may be read."""
    problems = []
    draft = read_draft(document, problems)
    if draft is None or problems or not draft.content.trees or (draft.nodes.child < NOTHING).any():
        return None
    try:
        release = replace(draft.release, trees=tuple(map(repacked, draft.release.trees)))
    except InvalidInput:
        return None
    assert release == draft.release
    return sound(partial(check_release, release, "it")), carefully(json.dumps(document).encode()) is not None


def repacked(tree):
    nodes = tree.nodes.columns
    return replace(tree, nodes=packed("it", tuple(tree.nodes), nodes.attributes, tuple(nodes.classes)))


def sound(check):
    with suppress(InvalidInput):
        check()
        return True
    return False


def test_releases_in_arrays_are_judged_as_their_documents_are():
    found = []
    for number in range(250):
        for data in set(releases.case(number).files.values()):
            try:
                document = json.loads(data)
            except ValueError:
                continue
            if isinstance(document, dict) and isinstance(document.get("trees"), list):
                found.append(judged(document))
    told = [each for each in found if each is not None]
    assert all(mine == theirs for mine, theirs in told)
    assert told.count((True, True)) > 100
    assert told.count((False, False)) > 5  # links that are no tree are refused before


def test_both_readers_accept_the_same_documents_in_batches(monkeypatch):
    monkeypatch.setattr(typed, "BATCH", 2)
    monkeypatch.setattr(typed, "PIECE", 40)
    monkeypatch.setattr(typed, "LARGE", 150)
    assert not list(disagreements(range(100)))


@pytest.mark.parametrize(
    ("between", "sound"), [(", ", True), (" ,\n", True), (",", True), (",,", False), (" ", False), (", {},", False)]
)
def test_nodes_in_pieces_have_one_comma_between_them(between, sound, monkeypatch):
    monkeypatch.setattr(typed, "LARGE", 0)
    for size in range(20, 300, 50):
        monkeypatch.setattr(typed, "PIECE", size)
        data = text(between.join((f'{{"id": "N:1", "attribute": {TWO}}}', *LEAVES)))
        found = typed.read_typed(data)
        assert (found is not None) == sound
        assert found == carefully(data)


def test_a_class_may_be_called_as_the_key_that_nodes_begin_with(monkeypatch):
    monkeypatch.setattr(typed, "LARGE", 0)
    monkeypatch.setattr(typed, "PIECE", 20)
    leaves = ('{"id": "A:", "counts": {"id": 1}}', '{"id": "B", "counts": {"id": 2, "a": 0}}')
    assert alike(text(split(TWO, *leaves), classes='["a", "id"]')) is not None


def test_no_node_is_made_when_they_are_read(monkeypatch):
    monkeypatch.setattr(Columns, "nodes", None)
    assert all(typed.read_typed(data) is not None for data in SOUND.values())


def text(nodes, head="", tree="", classes='["a", "b:c"]'):
    attributes = (
        '[{"name": "x:y", "type": "numeric"}, {"name": "m", "type": "numeric", "missing": true}, '
        '{"name": "c", "type": "categorical", "values": ["p", "q:", "r", "s"]}]'
    )
    return (
        f'{{"format": "maxent/1", "target": {{"name": "t:", "classes": {classes}}}, "attributes": {attributes}, '
        f'{head}"trees": [{{{tree}"nodes": [{nodes}]}}]}}'
    ).encode()


def split(test, *children):
    """A root with two leaves, whose attribute and branches are `test`."""
    return ", ".join((f'{{"id": "N:1", "attribute": {test}}}', *children))


TWO = '"x:y", "branches": [{"le": 1, "child": "A:"}, {"gt": 1, "child": "B"}]'
MANY = json.dumps([f"x{i}" for i in range(99)])
LEAVES = ('{"id": "A:", "label": "b:c"}', '{"id": "B", "counts": {"b:c": 2, "a": 0}, "n": 2}')

APART = '"m", "branches": [{"missing": false, "child": "A:"}, {"missing": true, "child": "B"}]'
NOISE = '"release": {"noise": {"mechanism": "geometric", "scale": 1}}, '
DENSE = NOISE.replace("geometric", "laplace")
SCORES = '"predicts": "score", "boosting": {"link": "logit", "base": {"b:c": 1}}, '


def missing(*stated):
    """A root whose two branches state whether they take missing values."""
    sides = (f'"missing": {word}, ' if word else "" for word in stated)
    low, high = (f'{{{bound}, {side}"child": null}}' for bound, side in zip(('"le": 1', '"gt": 1'), sides, strict=True))
    return split(f'"m", "branches": [{low}, {high}]')


SOUND = {
    "colons everywhere": text(split(TWO, *LEAVES)),
    "a byte order mark": b"\xef\xbb\xbf" + text('{"id": "L"}'),
    "blanks": b" \n\t\r" + text('\n{ "id"\t: "L" }\n') + b"\n ",
    "keys in another order": text('{"counts": {}, "n": 0, "id": "L"}'),
    "escapes": text('{"\\u0069d": "L\\n\\ud83d\\ude00", "l\\u0061bel": "\\u0061"}'),
    "quotes before colons": text('{"id": "L\\\\\\":\\\\", "label": "b:c"}'),
    "other characters": text('{"id": "Größe 😀 \\u0000"}'),
    "integers for floats": text(split(TWO.replace("1,", "-0,").replace('gt": 1', 'gt": 0.0'), *LEAVES)),
    "a minus zero": text(split(TWO.replace("1,", "-0.0,").replace('gt": 1', 'gt": 0'), *LEAVES)),
    "long numbers": text(split(TWO.replace("1", "1" + "0" * 200 + ".5"), *LEAVES)),
    "numbers that vanish": text(split(TWO.replace("1", "1e-999"), *LEAVES)),
    "an exponent": text('{"id": "L", "label": "a", "error_rate": 25E-2}'),
    "an integer error rate": text('{"id": "L", "label": "a", "error_rate": 0}'),
    "a removed leaf": text(split(TWO.replace('"B"', "null"), LEAVES[0])),
    "three intervals": text(
        split(
            '"x:y", "branches": [{"gt": 2, "child": "A:"}, {"le": 2, "gt": 1, "child": "B"}, {"le": 1, "child": null}]',
            *LEAVES,
        )
    ),
    "what is left of a number": text(
        split(
            '"x:y", "branches": [{"le": 1, "child": "M"}, {"gt": 1, "child": "B"}]',
            '{"id": "M", "attribute": "x:y", "branches": [{"le": 1, "gt": 0, "child": "A:"}, {"le": 0, "child": "C"}]}',
            *LEAVES,
            '{"id": "C"}',
        )
    ),
    "what is left of values": text(
        split(
            '"c", "branches": [{"in": ["s", "q:"], "child": "M"}, {"in": ["p", "r"], "child": "B"}]',
            '{"id": "M", "attribute": "x:y", "branches": [{"gt": 3, "child": "A:"}, {"le": 3, "child": "O"}]}',
            '{"id": "O", "attribute": "c", "branches": [{"in": ["q:"], "child": "C"}, {"in": ["s"], "child": null}]}',
            *LEAVES,
            '{"id": "C"}',
        )
    ),
    "an induction": text('{"id": "L"}', tree='"induction": {"algorithm": "id3", "compared": ["c"]}, '),
    "draws": text('{"id": "L", "counts": {"a": 5}, "distinct": 3}', head='"release": {"resampled": 5}, '),
    "decided labels": text(
        '{"id": "L", "label": "b:c", "error_rate": 1, "counts": {"a": 3}}', head='"labels": "decided", '
    ),
    "parts of a leaf": text(
        split(TWO, '{"id": "A:", "label": "a", "part_of": "L:1"}', '{"id": "B", "label": "a", "part_of": "L:1"}'),
        head='"labels": "decided", ',
    ),
    "a vote": text('{"id": "L"}', head='"predicts": "vote", ', tree='"weight": 2, '),
    "scores": text('{"id": "L", "value": -2}', head=SCORES, tree='"class": "b:c", '),
    "missing values": text(missing("true", "")),
    "missing values on the other side": text(missing("", "true")),
    "missing values apart": text(split(APART, *LEAVES)),
    "missing values with an interval": text(
        split(
            '"m", "branches": [{"gt": -5, "le": 5, "missing": true, "child": "A:"}, {"gt": 5, "child": "B"}, '
            '{"le": -5, "child": null}]',
            *LEAVES,
        )
    ),
    "missing values taken above": text(
        split(
            APART.replace("A:", "M"),
            '{"id": "M", "attribute": "m", "branches": [{"le": 1, "child": "A:"}, {"gt": 1, "child": null}]}',
            *LEAVES,
        )
    ),
    "a release": text('{"id": "L"}', head='"release": {"defense": {"method": "m:", "k": 3}}, '),
    "suppressed counts": text('{"id": "L", "n": 9, "counts": {"a": 5}}', head='"release": {"suppressed_below": 5}, '),
    "very many classes": text(
        '{"id": "L", "counts": {"x70": 3, "x2": 0, "x1": 2}}', classes=json.dumps([f"x{i}" for i in range(99)])
    ),
    "noise": text(
        '{"id": "L", "label": "a", "counts": {"b:c": -2, "a": 3.5}}', head=NOISE.replace("geometric", "laplace")
    ),
    "whole noise": text('{"id": "L", "counts": {"b:c": 2, "a": 3.0}}', head=NOISE),
    "noise in nothing": text(split(TWO, '{"id": "A:", "counts": {}}', '{"id": "B", "label": "a"}'), head=NOISE),
    "shares": text(split(TWO, '{"id": "A:", "rates": {"b:c": 0.33, "a": 0.67}}', LEAVES[1])),
    "scores of classes": text(
        split(TWO, '{"id": "A:", "value": {"b:c": 2}}', '{"id": "B", "value": {"a": -1e3, "b:c": 0}}'),
        head=SCORES.replace("logit", "softmax"),
    ),
    "second derivatives": text('{"id": "L", "value": 1, "hessian": 3}', head=SCORES, tree='"class": "a", '),
    "means": text(
        split(f'{TWO}, "mean": 7.5, "variance": 2, "n": 4', '{"id": "A:", "mean": 5}', '{"id": "B", "n": 2}'),
        classes='["a", "b:c"], "numbers": [5, [6, 10]]',
    ),
    "printed rates": text('{"id": "L", "label": "a", "error_rate": 0.33, "counts": {"a": 2, "b:c": 1}}'),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_documents_are_read_into_arrays(name):
    release = alike(SOUND[name])
    assert release is not None
    assert all(isinstance(tree.nodes, Nodes) for tree in release.trees)


# Beside what test_malformed_releases.py tries of both readers.
UNSOUND = {
    "a key of a node twice": text('{"id": "L", "id": "L"}'),
    "a class twice": text('{"id": "L", "counts": {"a": 1, "a": 1}}'),
    "a key of a branch twice": text(split(TWO.replace('"le": 1', '"le": 1, "le": 1'), *LEAVES)),
    "a key of a tree twice": text('{"id": "L"}', tree='"induction": {}, "induction": {}, '),
    "nodes twice": text('{"id": "L"}', tree='"nodes": [], '),
    "a key of the document twice": text('{"id": "L"}', head='"format": "maxent/1", '),
    "trees twice": text('{"id": "L"}', head='"trees": [], '),
    "a key of the head twice": text('{"id": "L"}', head='"release": {"sampling_rate": 1, "sampling_rate": 1}, '),
    "a key twice behind an escaped colon": text('{"id": "\\u003a", "n": 1, "n": 1}'),
    "a key twice behind a quote and a colon": text('{"id": "\\":", "n": 1, "n": 1}'),
    "a key twice, once escaped": text('{"id": "L", "\\u0069d": "L"}'),
    **{
        f"{key} {value}": text(f'{{"id": "L", "{key}": {value}}}')
        for key, values in {
            "n": ["null", "-1", "1.0", "1e2", "true", "9007199254740993", '"1"'],
            "label": ["null", '""', '"c"', "1"],
            "counts": ["null", "[]", '{"a": -1}', '{"a": 1.0}', '{"a": null}', '{"": 0}', '{"c": 1}'],
            "error_rate": ["null", "0.1", "NaN"],
            "attribute": ['""', "null", '"c"'],
            "branches": ["[]", "null"],
            "other": ["1"],
        }.items()
        for value in values
    },
    "noise that is not whole": text('{"id": "L", "counts": {"a": 3.5}}', head=NOISE),
    "noise that is too large": text('{"id": "L", "counts": {"a": 9007199254740993}}', head=NOISE),
    "more records above than floats count": text(
        split(f'{TWO}, "counts": {{"a": 9007199254740992, "b:c": 6}}, "n": 9', *LEAVES)
    ),
    "noise beside n": text('{"id": "L", "counts": {"a": 3}, "n": 3}', head=NOISE),
    "noise of no class": text('{"id": "L", "counts": {"c": 3}}', head=NOISE),
    "noise twice": text('{"id": "L", "counts": {"a": 3, "a": 3}}', head=NOISE),
    "shares that do not sum to 1": text('{"id": "L", "rates": {"a": 0.3, "b:c": 0.3}}'),
    "shares of nothing": text('{"id": "L", "rates": {}}'),
    "a share of no class": text('{"id": "L", "rates": {"a": 1, "c": 0}}'),
    "a share twice": text('{"id": "L", "rates": {"a": 1, "a": 1}}'),
    "shares beside a label of few": text('{"id": "L", "label": "a", "rates": {"a": 0.3, "b:c": 0.7}}'),
    "shares beside counts of others": text('{"id": "L", "counts": {"a": 1}, "rates": {"a": 0.3, "b:c": 0.7}}'),
    "scores of no class": text('{"id": "L", "value": {}}', head=SCORES.replace("logit", "softmax")),
    "scores of classes in a tree of one": text('{"id": "L", "value": {"a": 1}}', head=SCORES, tree='"class": "a", '),
    "a second derivative below 0": text('{"id": "L", "value": 1, "hessian": -3}', head=SCORES, tree='"class": "a", '),
    "a mean without numbers": text('{"id": "L", "mean": 7.5}'),
    "a mean that is too large": text('{"id": "L", "mean": 7.5}', classes='["a", "b:c"], "numbers": [5, 6]'),
    "a variance without a mean": text('{"id": "L", "variance": 1}', classes='["a", "b:c"], "numbers": [5, 6]'),
    "a variance below 0": text('{"id": "L", "mean": 5, "variance": -1}', classes='["a", "b:c"], "numbers": [5, 6]'),
    "a mean of an attribute": text('{"id": "L", "mean": "5"}', classes='["a", "b:c"], "numbers": [5, 6]'),
    "a part that is no name": text('{"id": "L", "part_of": 3}'),
    "a part without a name": text('{"id": "L", "part_of": ""}'),
    "a part that is counted": text('{"id": "L", "part_of": "P", "n": 3}'),
    "parts with two labels": text(
        split(TWO, '{"id": "A:", "label": "a", "part_of": "L"}', '{"id": "B", "label": "b:c", "part_of": "L"}'),
        head='"labels": "decided", ',
    ),
    "a part with the most frequent class": text('{"id": "L", "label": "a", "part_of": "P"}'),
    "a size above a part": text(
        split(
            TWO,
            '{"id": "A:", "attribute": "m", "n": 3, "branches": [{"le": 1, "child": "C"}, '
            '{"gt": 1, "missing": true, "child": null}]}',
            '{"id": "B", "label": "a", "part_of": "L"}',
            '{"id": "C", "label": "a", "part_of": "L"}',
        ),
        head='"labels": "decided", ',
    ),
    "a part with branches": text(split(f'{TWO}, "part_of": "P"', *LEAVES)),
    "missing values of both branches": text(missing("true", "true")),
    "missing values of neither branch": text(missing("", "")),
    "missing values that are false beside a bound": text(missing("true", "false")),
    "missing values that are null": text(missing("true", "null")),
    "missing values of an attribute without": text(missing("true", "").replace('"m"', '"x:y"')),
    "missing values apart, of both": text(split(APART.replace("false", "true"), *LEAVES)),
    "missing values alone": text(split('"m", "branches": [{"missing": true, "child": "A:"}]', LEAVES[0])),
    "a weight below 0": text('{"id": "L"}', tree='"weight": -1, '),
    "a weight twice": text('{"id": "L"}', tree='"weight": 1, "weight": 1, '),
    "no score": text('{"id": "L"}', head=SCORES, tree='"class": "a", '),
    "a score of no class": text('{"id": "L", "value": 1}', head=SCORES),
    "a score of an inner node": text(split(TWO.replace('"branches"', '"value": 1, "branches"'), *LEAVES)),
    "scores of trees of several classes": text(
        '{"id": "L", "value": 1}]}, {"class": "b:c", "nodes": [{"id": "L", "value": 1}',
        head=SCORES,
        tree='"class": "a", ',
    ),
    "scores beside votes": text('{"id": "L", "value": 1}', head=SCORES.replace("score", "vote")),
    "the label of several trees": text('{"id": "L"}]}, {"nodes": [{"id": "L"}', head='"predicts": "label", '),
    "an empty id": text('{"id": ""}'),
    "half a surrogate pair": text('{"id": "\\ud800"}'),
    "bytes that are not UTF-8": text('{"id": "L"}').replace(b'"L"', b'"\xed\xa0\x80"'),
    "a control character": text('{"id": "\x01"}'),
    "a number beyond floats": text(split(TWO.replace("1", "1e999"), *LEAVES)),
    "an integer beyond floats": text(split(TWO.replace("1", "1" + "0" * 400), *LEAVES)),
    "a comma at the end": text('{"id": "L"},'),
    "no trees": text("").replace(b'[{"nodes": []}]', b"[]"),
    "no nodes": text(""),
    "far too many levels": text("[" * 200_000),
    "an empty list of values": text(split('"c", "branches": [{"in": [], "child": null}]')),
    "a value twice": text(split('"c", "branches": [{"in": ["p", "p", "q:", "r", "s"], "child": null}]')),
    "a bound of values": text(split('"c", "branches": [{"le": 1, "child": null}, {"gt": 1, "child": null}]')),
    "a value of numbers": text(split('"x:y", "branches": [{"in": ["p"], "child": null}]')),
    "a null bound": text(split(TWO.replace('"le": 1', '"le": 1, "gt": null'), *LEAVES)),
    "no bound": text(split('"x:y", "branches": [{"child": null}]')),
    "an interval without numbers": text(split(TWO.replace('"le": 1', '"le": 1, "gt": 1'), *LEAVES)),
    "a branch without a child": text(split(TWO.replace(', "child": "B"', ""), *LEAVES)),
    "a child that is nowhere": text(split(TWO.replace('"B"', '"C"'), *LEAVES)),
    "a child of two": text(split(TWO.replace('"B"', '"A:"'), *LEAVES)),
    "a child that is the root": text(split(TWO.replace('"B"', '"N:1"'), *LEAVES)),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_wrong_is_read_by_neither(name):
    assert alike(UNSOUND[name]) is None


def test_a_document_is_read_without_the_decoder_too(tmp_path, monkeypatch):
    path = tmp_path / "tree.json"
    path.write_bytes(SOUND["colons everywhere"])
    careful = load_release(path)  # it is too small to be worth it
    monkeypatch.setattr(read, "LARGE", 0)
    fast = load_release(path)
    monkeypatch.setattr(typed, "read_typed", None)
    monkeypatch.setattr(read, "installed", lambda module: False)
    assert load_release(path) == fast == careful


@pytest.fixture
def both():
    """The nodes of a tree as arrays, and as objects."""
    data = SOUND["what is left of values"]
    return typed.read_typed(data).trees[0].nodes, tuple(carefully(data).trees[0].nodes)


def test_nodes_held_as_arrays_are_like_a_tuple(both):
    held, nodes = both
    assert [held[i] for i in range(len(held))] == list(nodes)  # one by one, before all are made
    assert (held[-1], held[1:3], held) == (nodes[-1], nodes[1:3], nodes)
    assert nodes == held
    assert held != nodes[:-1]
    assert held != list(nodes)
    assert hash(held[0]) == hash(nodes[0])
    assert (*held[:1], *held[1:]) == nodes
    assert pickle.loads(pickle.dumps(held)) == nodes
    with pytest.raises(IndexError):
        held[len(nodes)]
    assert replace(carefully(SOUND["a release"]).trees[0], nodes=held).leaves == tuple(n for n in nodes if n.is_leaf)


def test_what_nodes_state_is_the_same_from_arrays_and_from_objects(both):
    held, nodes = both
    classes = ("a", "b:c")
    for mine, theirs in zip(links_of(held), links_of(nodes), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert attributes_of(held) == attributes_of(nodes) == {"c", "x:y"}
    one, other = statements_of(held, classes), statements_of(nodes, classes)
    for name in one.__slots__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(statements_of(held, classes[::-1]).table(2), other.table(2)[:, ::-1])
    rows = np.array([4, 2])
    np.testing.assert_array_equal(one.take(rows).table(2), other.table(2)[rows])


def test_some_nodes_are_made_without_the_others(both):
    held, nodes = both
    rows = np.array([4, 0, 2])
    assert nodes_at(held, rows) == nodes_at(nodes, rows) == {i: nodes[i] for i in rows.tolist()}
    assert not state_scores(held)
    assert state_scores(typed.read_typed(SOUND["scores"]).trees[0].nodes)


def test_arrays_are_audited_as_objects_are():
    for number in range(25):
        data = releases.case(number).files["before.json"]
        fast, careful = (read._released(content) for content in (typed.read_typed(data), carefully(data)))
        assert audit(fast) == audit(careful), number


def test_counts_of_very_many_classes_stay_sparse():
    (node,) = typed.read_typed(SOUND["very many classes"]).trees[0].nodes
    assert isinstance(node, Node)
    assert isinstance(node.counts, SparseCounts)
    assert node.counts.positive == {"x70": 3, "x1": 2}


JUNK = [None, True, False, -1, 0, 1, 2**53, 2**53 + 1, 0.5, 1.0, 1.5, float("inf"), float("nan"), "", "a", "\ud800"]
JUNK += [[], ["a"], ["a", "a"], [1], {}, {"a": 1}, {"c": True}]


def outcome(document):
    """The release that a document is, or what is wrong with it."""
    try:
        return parse_release(document, "tree.json")
    except InvalidInput as error:
        return error.problems


@thorough(20)
@given(case=cases(trees=(1, 2)))
def test_what_is_written_of_a_release_is_read_as_it(case):
    document = json.loads(json.dumps(release_to_document(case.release)))
    assert outcome(document) == case.release
    fast = read_typed(json.dumps(document).encode())
    assert fast.trees == case.release.trees


def places(value, path=()):
    """The path of everything in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@thorough(50)
@given(data=st.data())
def test_what_is_not_sound_is_read_by_no_reader(data):
    document = json.loads(json.dumps(release_to_document(data.draw(cases()).release)))
    nodes = document["trees"][0]["nodes"]
    for _ in range(data.draw(st.integers(1, 2))):
        *path, last = data.draw(st.sampled_from([path for path in places(nodes) if path]))
        at = nodes
        for key in path:
            at = at[key]
        if isinstance(at, dict) and data.draw(st.booleans()):
            at[
                data.draw(st.sampled_from(["id", "attribute", "branches", "n", "counts", "label", "child", "le", "c"]))
            ] = at.pop(last)
        else:
            at[last] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    fast, careful = read_typed(json.dumps(document).encode()), outcome(document)
    assert fast is None or (isinstance(careful, Release) and repr(fast.trees) == repr(careful.trees))


def test_the_search_for_cycles_goes_on_after_reading(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text("{")
    assert gc.isenabled()
    with pytest.raises(InvalidInput):
        load_release(path)
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()  # whoever turned it off wants it off
    finally:
        gc.enable()


def test_what_was_made_without_the_search_for_cycles_is_not_searched_at_once():
    with uncollected():
        made = [[] for _ in range(1000)]
    old = {id(found) for found in gc.get_objects(generation=2)}
    assert all(id(each) in old for each in made)
    assert gc.get_freeze_count() == 0
