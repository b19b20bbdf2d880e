"""Defenses that start from a tree of another tool."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, export_text
from support.calls import printed_by, refused

from maxent import InvalidInput, ReleaseClassifier, defend, estimate
from maxent.__main__ import main

QI = ["x", "z"]


def table(seed: int = 0, n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(0, 9, (n, 3)), columns=["x", "z", "p"])
    return frame.assign(y=np.where((frame["x"] + frame["z"] + random.integers(0, 5, n)) > 9, "yes", "no"))


def fitted(frame: pd.DataFrame, columns: list[str], **more: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0, **more).fit(frame[columns], frame["y"])


def test_a_model_of_the_same_records_is_what_would_have_been_grown() -> None:
    frame = table()
    for method in ("none", "prune-parent", "optimal"):
        mine = defend(frame, method, target="y", qi=QI, model=fitted(frame, QI))
        grown = defend(frame, method, target="y", qi=QI)
        assert mine.rows == grown.rows
        assert [leaf.counts for leaf in mine.release.trees[0].leaves] == [
            leaf.counts for leaf in grown.release.trees[0].leaves
        ]
        assert mine.release.trees[0].induction.impurity is None  # the model may be of other records


def test_leaves_state_the_counts_of_these_records() -> None:
    frame, other = table(0), table(1)
    found = defend(frame, "prune-parent", target="y", qi=QI, k=5, model=fitted(other, ["x", "z", "p"], max_depth=4))
    assert sum(leaf.n or 0 for leaf in found.release.trees[0].leaves) == len(frame)
    assert {a.name: a.role for a in found.release.attributes} == {"x": "public", "z": "public", "p": "private"}
    assert estimate(found.release, frame[QI], frame[[*QI, "y"]]).summary["max_violation"] <= 1e-8


def test_forests_are_pruned_tree_by_tree() -> None:
    frame = table()
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(frame[QI], frame["y"])
    found = defend(frame, "prune-parent", target="y", qi=QI, k=8, model=forest)
    assert len(found.release.trees) == 3
    assert min(leaf.n or 0 for tree in found.release.trees for leaf in tree.leaves) >= 8
    assert found.release.resampled is None
    assert found.rows[0]["removed_records"] == 0
    removed = defend(frame, "prune-leaf", target="y", qi=QI, k=20, model=forest)
    kept = sum(leaf.n or 0 for tree in removed.release.trees for leaf in tree.leaves)
    assert removed.rows[0]["removed_records"] == 3 * len(frame) - kept > 0


def test_a_defended_pipeline_predicts_in_its_place() -> None:
    frame = table().assign(c=lambda f: f["p"].map(lambda p: "it's" if p % 3 else "a b"))
    X, y = frame[["x", "z", "c"]], (frame["y"] == "yes").astype(int)
    steps = make_column_transformer((OneHotEncoder(), ["c"]), remainder=StandardScaler())
    pipeline = make_pipeline(steps, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    kept = defend(X.assign(y=y), "none", target="y", qi=["x", "z", "c"], model=pipeline)
    assert (ReleaseClassifier(kept.release, classes=[0, 1]).predict(X) == pipeline.predict(X)).all()
    found = defend(X.assign(y=y), "prune-parent", target="y", qi=["x", "z"], k=20, model=pipeline)
    assert min(leaf.n or 0 for leaf in found.release.trees[0].leaves) >= 20
    with pytest.raises(InvalidInput, match="data: expected a DataFrame as fit was given"):
        defend("data.csv", "none", target="y", qi=["x", "z"], model=pipeline)


def test_what_cannot_be_started_from_is_refused() -> None:
    frame = table()
    tree, boosted = fitted(frame, QI), GradientBoostingClassifier(n_estimators=2).fit(frame[QI], frame["y"])
    refused("none for kadet, which grows its own trees", defend, frame, "kadet", target="y", qi=QI, model=tree)
    refused("none for grow", defend, frame, "optimal", target="y", qi=QI, model=tree, grow=True)
    with pytest.raises(InvalidInput, match="max_depth: expected none: the tree is that of the model"):
        defend(frame, "optimal", target="y", qi=QI, model=tree, max_depth=3)
    refused("trees whose leaves have classes", defend, frame, "optimal", target="y", qi=QI, model=boosted)


def test_the_command_starts_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table()
    frame.to_csv("data.csv", index=False)
    Path("tree.txt").write_text(export_text(fitted(frame, QI), feature_names=QI, show_weights=True))
    call = ["data.csv", "--target", "y", "--qi", "x,z", "--from", "tree.txt", "-o", "best.json"]
    assert "proved: no subtree" in printed_by(capsys, ["defend", "optimal", *call]).out
    assert main(["defend", "optimal", *call, "--criterion", "stated"]) == 2
    assert "--criterion: expected 'unstated': what the splits of the model were chosen by" in capsys.readouterr().err
    printed = printed_by(capsys, ["defend", "optimal", *call, "--choose"]).out
    assert "the release does not say what splits were chosen by" in printed
    assert "of what states more" not in printed  # nothing that does was tried
    assert "--from: expected none for rdt" in printed_by(capsys, ["defend", "rdt", *call], 2).err
    assert main(["audit", "best.json", "data.csv"]) == 0


def test_what_limits_on_leaves_do_not_cover_is_told() -> None:
    frame = table()
    told = {}
    frame = frame.assign(y=np.where(frame["p"] + frame["x"] % 3 > 5, "yes", "no"))
    for private, more in ((["p"], {}), ([], {"criterion": "stated"}), ([], {})):
        found = defend(frame, "optimal", target="y", qi=QI, private=private, max_posterior=1.0, **more)
        told[str(private) + str(more)] = [note for note in found.notes if note.startswith("limits are kept by")]
    with_private, stated, plain = told.values()
    assert "private attributes are tested" in with_private[0]
    assert "what splits were chosen by is stated" in stated[0]
    assert plain == []
