"""Problems at the edge: pure leaves, absent classes, one quasi-identifier, many equal rows, rounded rates."""

import numpy as np
import pandas as pd
import pytest
from conformance.answers import estimate
from support.documents import release_document

from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.induction.inducers import id3


def tree(leaves, classes="abc", induction=None, attributes=("A", "B")):
    """A tree that splits on A (values 0, 1), chosen over B."""
    return parse_release(
        release_document(
            "X",
            classes,
            {name: ["0", "1"] for name in attributes},
            {
                "induction": {"impurity": induction, "candidates": "unused"},
                "nodes": [
                    {"id": "N", "attribute": "A", "branches": [{"in": [v], "child": f"L{v}"} for v in "01"]},
                    *({"id": f"L{i}", **leaf} for i, leaf in enumerate(leaves)),
                ],
            },
        ),
        "test",
    )


def people(*cells):
    """Rows (A, B) repeated as often as the third entry says."""
    return pd.DataFrame([(a, b) for a, b, n in cells for _ in range(n)], columns=["A", "B"])


QI = people(("0", "0", 4), ("0", "1", 2), ("1", "0", 3), ("1", "1", 3))


@pytest.mark.parametrize("induction", [None, "gini", "entropy"])
def test_pure_leaves(backend, induction):
    release = tree([{"label": "a", "error_rate": 0.0}, {"counts": {"b": 6}}], induction=induction)
    found = estimate(release, QI, backend)
    assert (found.summary["status"], found.summary["entropy"]) == ("optimal", pytest.approx(0.0, abs=1e-7))
    assert found.probabilities[:, 2] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("induction", ["gini", "entropy"])
def test_classes_nobody_has(backend, induction):
    release = tree([{"counts": {"a": 5, "b": 1}}, {"counts": {"a": 1, "b": 5}}], induction=induction)
    found = estimate(release, QI, backend)
    assert (found.summary["status"], found.probabilities[:, 2]) == ("optimal", pytest.approx(0.0, abs=1e-9))
    assert found.probabilities[0, :2] == pytest.approx([5 / 6, 1 / 6], abs=1e-6)


def test_one_quasi_identifier(backend):
    release = tree([{"label": "b", "error_rate": 1 / 3}, {"label": "a"}], induction="gini")
    found = estimate(release, people(("0", "0", 6)), backend)
    assert found.summary["status"] == "optimal"
    assert found.probabilities == pytest.approx(np.array([[1 / 6, 2 / 3, 1 / 6]]), abs=1e-6)


def test_two_classes_of_which_one_occurs(backend):
    release = tree([{"counts": {"a": 6}}, {"counts": {"a": 6}}], classes="ab", induction="entropy")
    found = estimate(release, QI, backend)
    assert (found.summary["status"], found.summary["disclosure"]["certain"]) == ("optimal", 12)


def contested(times=1):
    """Sixteen people whose tree leaves internal constraints that the leaves' rates alone break."""
    frame = pd.DataFrame(
        [(a, b, c) for a in "01" for b in "01" for c in "01" for _ in range(2 * times)], columns=["A", "B", "C"]
    )
    klass = []
    for i, (a, b, c) in enumerate(frame.itertuples(index=False, name=None)):
        klass.append("abc"[(int(a) + 2 * (int(b) & int(c)) + (i % 5 == 0)) % 3])
    frame["X"] = klass
    return frame


@pytest.mark.parametrize("impurity", ["gini", pytest.param("entropy", marks=pytest.mark.slow)])
def test_many_equal_rows_are_as_one_with_a_weight(backend, impurity):
    """20,000 rows of a few kinds are the same problem as one row of each kind with a count."""
    frame = contested()
    release = id3(frame, target="X", qi=["A", "B", "C"], impurity=impurity, publish="rates")
    qi = frame[["A", "B", "C"]]
    times = 20_000 // len(qi)
    document = _scaled(release, times)
    many = pd.concat([qi] * times, ignore_index=True)
    assert len(many) == 20_000
    found = estimate(document, many, backend, rounding="exact")
    weighted = estimate(document, qi.assign(n=times), backend, count="n", rounding="exact")
    assert found.summary["status"] == weighted.summary["status"] == "optimal"
    assert found.probabilities == pytest.approx(weighted.probabilities, abs=1e-9)
    assert found.summary["entropy"] == pytest.approx(estimate(release, qi, backend).summary["entropy"], abs=1e-6)


def _scaled(release, times):
    document = release_to_document(release)
    for node in document["trees"][0]["nodes"]:
        if "n" in node:
            node["n"] *= times
    return parse_release(document, "scaled")


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_rates_of_three_digits(backend, impurity):
    """Rounded rates are intervals, in which the true distribution lies."""
    frame = contested(3)
    exact = id3(frame, target="X", qi=["A", "B", "C"], impurity=impurity, publish="rates", min_samples_split=13)
    document = release_to_document(exact)
    for node in document["trees"][0]["nodes"]:
        node.pop("n", None)
        if "error_rate" in node:
            node["error_rate"] = round(node["error_rate"], 3)
    qi = frame[["A", "B", "C"]]
    rounded = estimate(parse_release(document, "rounded"), qi, backend, rounding="digits")
    assert rounded.summary["status"] == "optimal"
    assert rounded.summary["entropy"] >= estimate(exact, qi, backend).summary["entropy"] - 1e-6
