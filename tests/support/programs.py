"""Lifted programs to test on: small releases of every kind."""

import numpy as np
import pandas as pd

from maxent.api.estimate import compile_release
from maxent.constraints.lifting import lift
from maxent.constraints.presolve.merge import Part, known_totals, needed, unmerged
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.induction.inducers import id3
from support.documents import release_document


def people(n=60, classes="abc", seed=0):
    """A table of individuals whose class depends on two of three attributes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, 3, n).astype(str) for name in ("A", "B", "C")})
    weight = frame["A"].astype(int) + 2 * frame["B"].astype(int)
    frame["X"] = np.array(list(classes))[(weight + rng.integers(0, 2, n)) % len(classes)]
    return frame


def public(impurity, publish="rates", classes="abc", seed=0):
    frame = people(classes=classes, seed=seed)
    release = id3(frame, target="X", qi=["A", "B", "C"], impurity=impurity, min_samples_split=15, publish=publish)
    return release, frame


def private(impurity, publish="rates"):
    """The root tests a private attribute and was chosen over two public ones: sizes of branches are unknown."""
    frame = people()
    leaves = [{"label": name, "error_rate": 0.5} for name in "abc"]
    if publish == "counts":
        leaves = [{"counts": frame[frame["A"] == v]["X"].value_counts().to_dict()} for v in ("0", "1", "2")]
    document = release_document(
        "X",
        ["a", "b", "c"],
        [
            {"name": "A", "type": "categorical", "values": ["0", "1", "2"], "role": "private"},
            {"name": "B", "type": "categorical", "values": ["0", "1", "2"]},
            {"name": "C", "type": "categorical", "values": ["0", "1", "2"]},
        ],
        {
            "induction": {"impurity": impurity, "candidates": "unused"},
            "nodes": [
                {"id": "N", "attribute": "A", "branches": [{"in": [v], "child": f"L{v}"} for v in ("0", "1", "2")]},
                *({"id": f"L{i}", **leaf} for i, leaf in enumerate(leaves)),
            ],
        },
    )
    return parse_release(document, "test"), frame


def whole(release, frame):
    """The whole program of a release, lifted in one piece."""
    program = compile_release(release, frame)
    evaluator, merged, totals = Evaluator(program), unmerged(program), known_totals(program)
    keep = needed(program, totals, evaluator.linear)
    part = Part(np.arange(len(merged.owner)), keep, np.arange(evaluator.internal.n_rows))
    return program, lift(program, merged, part, evaluator.internal, totals)
