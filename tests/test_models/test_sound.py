"""Reading into arrays gives what reading with words gives, and leaves everything doubtful to the latter."""

import copy
import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import cases, thorough

from maxent.models.errors import InvalidInput
from maxent.models.files.json_files import uncollected
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.registry import load_release
from maxent.models.release import Release

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
    assert fast is None or fast.trees == case.release.trees


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
