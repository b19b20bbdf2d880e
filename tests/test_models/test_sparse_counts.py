"""Very many classes: memory grows with what a document states, not with classes times nodes."""

import json
import pickle
import tracemalloc
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from support.documents import release_document

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.program.residuals import Evaluator
from maxent.models.columns import FEW_CLASSES, LIMIT, SparseCounts, complete_counts, positive_counts, total_count
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.registry import load_release


def document(n: int, *, inner: bool = False, size: int = 3) -> dict:
    """A chain of cuts of x into n leaves; everybody in leaf i has class i, and so has the node above, if stated."""
    classes = [f"c{i}" for i in range(n)]
    nodes = []
    for i in range(n - 1):
        node = {
            "id": f"N{i}",
            "attribute": "x",
            "branches": [
                {"le": i + 0.5, "child": f"L{i}"},
                {"gt": i + 0.5, "child": f"N{i + 1}" if i < n - 2 else "Z"},
            ],
        }
        if inner and i == 0:
            node["counts"] = dict.fromkeys(classes, size)
        nodes += [node, {"id": f"L{i}", "counts": {classes[i]: size}}]
    nodes.append({"id": "Z", "label": classes[-1], "n": size, "counts": {classes[-1]: size, classes[0]: 0}})
    return release_document("t", classes, {"x": None}, nodes)


def test_counts_are_a_mapping_of_every_class():
    every = dict.fromkeys([f"c{i}" for i in range(FEW_CLASSES + 1)], 0)
    counts = complete_counts(every, {"c3": 2, "c5": 0})
    assert isinstance(counts, SparseCounts)
    assert isinstance(counts, Mapping)
    assert (counts["c3"], counts["c4"], counts.get("nobody"), len(counts)) == (2, 0, None, len(every))
    assert list(counts) == list(every)
    assert sum(counts.values()) == total_count(counts) == 2
    assert positive_counts(counts) == {"c3": 2}
    assert counts == every | {"c3": 2}
    assert every | {"c3": 2} == counts
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert repr(counts) == "{'c3': 2} of 65 classes"
    with pytest.raises(KeyError):
        counts["nobody"]
    assert complete_counts({"a": 0, "b": 0}, {"b": 2}) == {"a": 0, "b": 2}


def test_few_classes_or_many_read_alike():
    small, large = (parse_release(document(n), "r").trees[0].nodes[1].counts for n in (FEW_CLASSES, FEW_CLASSES + 1))
    assert isinstance(small, dict)
    assert isinstance(large, SparseCounts)
    assert small == {label: large[label] for label in small}


@pytest.mark.regression(number=11)
def test_memory_of_a_release_grows_with_the_document(tmp_path):
    """2,000 classes and leaves: 4 million counts, of which 2,000 are stated."""
    path = tmp_path / "tree.json"
    text = json.dumps(document(2000))
    path.write_text(text)
    tracemalloc.start()
    release = parse_release(json.loads(text), str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * path.stat().st_size, "a dictionary of all classes for each leaf takes 1,000 times the file"
    assert load_release(path) == release
    release.save(tmp_path / "again.json")
    assert load_release(tmp_path / "again.json") == release
    assert (tmp_path / "again.json").stat().st_size < 3 * path.stat().st_size
    assert release_to_document(release)["trees"][0]["nodes"][1]["counts"] == {"c0": 3}


@pytest.mark.parametrize(
    ("change", "where", "found"),
    [
        (lambda d: d["trees"][0]["nodes"][0]["counts"].update(c7=2), "counts of c7", "2"),
        (lambda d: d["trees"][0]["nodes"][1].update(label="c9"), "label", "'c9', which has 0"),
        (lambda d: d["trees"][0]["nodes"][-1].update(n=4), "n", "4"),
    ],
)
def test_what_contradicts_itself_is_still_found(change, where, found):
    wrong = document(100, inner=True)
    parse_release(wrong, "r")
    change(wrong)
    with pytest.raises(InvalidInput) as refused:
        parse_release(wrong, "r")
    assert (refused.value.problems[0].field, refused.value.problems[0].found) == (where, found)


def test_what_needs_a_number_per_class_and_row_names_its_limit(monkeypatch):
    release = parse_release(document(100), "r")
    table = pd.DataFrame({"x": [float(i) for i in range(100) for _ in range(3)]})
    assert maxent.audit(release, table)["homogeneity"]["leaves"] == 100
    assert maxent.estimate(release, table).disclosure.certain == 300
    monkeypatch.setenv(LIMIT, "5000")
    for ask in (maxent.audit, maxent.estimate):
        with pytest.raises(InvalidInput, match=f"at most 5,000 numbers.*{LIMIT}=N raises the limit.*10,000 numbers"):
            ask(release, table)
    monkeypatch.setenv(LIMIT, "many")
    with pytest.raises(InvalidInput, match=f"{LIMIT}: expected a whole number, found 'many'"):
        maxent.audit(release, table)


@pytest.mark.regression(number=15)
def test_the_rows_of_a_program_take_memory_for_what_is_not_0():
    """300 leaves that count 300 classes: 90,000 rows, of one coefficient each."""
    release = parse_release(document(300), "r")
    program = compile_release(release, pd.DataFrame({"x": [float(i) for i in range(300) for _ in range(3)]}))
    masses = 3.0 * np.eye(300)[program.cells.owner]
    tracemalloc.start()
    assert Evaluator(program).max_violation(masses) == 0.0
    assert Evaluator(program).max_violation(np.roll(masses, 1, axis=1)) > 0.5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6, "a number for every row and class takes 216 MB"


def test_labels_of_very_many_classes_name_the_limit(monkeypatch):
    wrong = document(100)
    for node in wrong["trees"][0]["nodes"]:
        if "counts" in node:
            node["label"] = max(node["counts"], key=node["counts"].get)
            del node["counts"]
    table = pd.DataFrame({"x": [float(i) for i in range(100) for _ in range(3)]})
    assert maxent.estimate(parse_release(wrong, "r"), table).reliable
    monkeypatch.setenv(LIMIT, "20000")
    with pytest.raises(InvalidInput, match=f"comparisons of labels with classes.*{LIMIT}=N raises the limit"):
        maxent.estimate(parse_release(wrong, "r"), table)
