"""`maxent defend rdt`: random trees from the command line, what is promised of them, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.__main__ import main
from maxent.models.defenses.random_trees import predict_votes
from maxent.models.trees.predict import read_columns

CALL = ["data.csv", "--target", "Y", "--qi", "A,N"]
DOMAINS = {"A": ["v", "w", "x", "y"], "N": [0, 10], "Y": ["bad", "good", "none"]}


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    a, number = rng.integers(0, 3, n), rng.integers(0, 21, n) / 2
    good = rng.random(n) < 0.1 + 0.8 * ((a == 1) ^ (number > 6))
    return pd.DataFrame(
        {"A": np.array(list("wxy"), object)[a], "N": number, "Y": np.array(["bad", "good"], object)[good.astype(int)]}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("data.csv", index=False)
    people(100, 1).to_csv("test.csv", index=False)
    (tmp_path / "domains.json").write_text(json.dumps(DOMAINS))
    return tmp_path


def summary(capsys, *arguments):
    assert main(["defend", "rdt", *CALL, *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def right_votes(release, test):
    voted = predict_votes(release, *read_columns(release, test))
    return (np.array(release.target.classes, object)[voted] == test["Y"]).mean()


def test_releases_of_several_k_are_of_the_same_trees_and_samples(folder, capsys):
    options = ["--trees", "4", "--depth", "2", "--beta", "0.4", "--epsilon", "8", "--domains", "domains.json"]
    options += ["--vote", "trees"]
    found = summary(capsys, *options, "--k", "3", "--k", "30", "--test", "test.csv", "-o", "forest-{k}.json")
    releases = {k: maxent.load_release(f"forest-{k}.json") for k in (3, 30)}
    for k, row in zip((3, 30), found["releases"], strict=True):
        assert row["k"] == k
        known = maxent.privacy.kanon_delta(k, 0.4, 2.0)
        assert row["guarantee"] == {
            "beta": 0.4,
            "epsilon": 8.0,
            "delta": maxent.privacy.composed(4, 2.0, known)[1],
            "tight_delta": maxent.privacy.forest_delta(4, k, 0.4, 8.0),
        }
        assert row["guarantee"].items() <= releases[k].defense.parameters.items()
        assert {"trees": 4, "depth": 2, "k": k, "samples": "secret"}.items() <= releases[k].defense.parameters.items()
        assert row["test_accuracy"] == right_votes(releases[k], people(100, 1))
        assert row["leaves"] <= row["leaves_before"]
    shown = {
        k: sorted(c for tree in release.trees for leaf in tree.leaves for c in leaf.counts.values() if c)
        for k, release in releases.items()
    }
    assert shown[30] == [count for count in shown[3] if count >= 30]
    assert sum(note.startswith("guaranteed: k = ") for note in found["notes"]) == 2


def test_a_seed_makes_it_repeatable_and_costs_the_guarantee(folder, capsys):
    first = summary(capsys, "--domains", "domains.json", "--seed", "3", "-o", "one.json")
    assert first.keys() >= {"leaves", "leaves_before", "train_accuracy", "test_accuracy", "guarantee"}
    assert first["releases"][0]["k"] == 20
    summary(capsys, "--domains", "domains.json", "--seed", "3", "-o", "two.json")
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()
    assert any("a seed was given" in note for note in first["notes"])
    summary(capsys, "--domains", "domains.json", "-o", "three.json")
    secret = summary(capsys, "--domains", "domains.json", "-o", "four.json")
    assert (folder / "three.json").read_bytes() != (folder / "four.json").read_bytes()
    assert not any("seed" in note for note in secret["notes"])


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ([], "nothing, as the domains of A, N, Y are those of the data"),
        (["--domains", "domains.json", "--k", "3", "--beta", "0.5"], "published with a probability of up to 1 "),
        (["--domains", "domains.json", "--beta", "1"], "nothing, as every record is in the samples"),
    ],
)
def test_when_nothing_is_guaranteed_it_says_why(folder, capsys, options, note):
    found = summary(capsys, *options, "-o", "forest.json")
    assert found["guarantee"] is None
    assert any(note in said for said in found["notes"])
    assert "epsilon" not in maxent.load_release("forest.json").defense.parameters


def test_what_is_printed(folder, capsys):
    assert main(["defend", "rdt", *CALL, "--domains", "domains.json", "--epsilon", "2", "-o", "forest.json"]) == 0
    printed = capsys.readouterr().out
    assert "rdt: 600 records, 10 trees of " in printed
    assert "guaranteed: differential privacy under sampling, beta 0.1, epsilon 2 nats, delta 5.2" in printed
    assert "and 0.00042 by adding up" in printed
    assert main(["estimate", "forest.json", "data.csv"]) == 0
    below = ["--beta", "0.4", "--epsilon", "2", "--k", "40", "-o", "forest.json"]
    assert main(["defend", "rdt", *CALL, "--domains", "domains.json", *below]) == 0
    assert "what each tree guarantees adds up from an epsilon of 5.108 on only" in capsys.readouterr().out


def test_a_vote_predicts_otherwise_and_publishes_the_same(folder, capsys):
    options = ["--domains", "domains.json", "--seed", "5", "--beta", "0.3", "--trees", "4", "--test", "test.csv"]
    found = {vote: summary(capsys, *options, "--vote", vote, "-o", f"{vote}.json") for vote in ("sums", "trees")}
    assert (folder / "sums.json").read_bytes() == (folder / "trees.json").read_bytes()
    release, test = maxent.load_release("trees.json"), people(100, 1)
    assert found["trees"]["test_accuracy"] == right_votes(release, test) != found["sums"]["test_accuracy"]
    with pytest.raises(maxent.InvalidInput, match="vote: expected one of sums, trees"):
        maxent.defend(people(), "rdt", target="Y", qi=["A", "N"], vote="all")


def test_without_a_threshold_all_counts_are_published(folder, capsys):
    options = ["--beta", "1", "--trees", "2", "--depth", "1", "--domains", "domains.json"]
    found = summary(capsys, *options, "--k", "0", "-o", "forest.json")
    release = maxent.load_release("forest.json")
    assert found["k"] == 0 == release.suppressed_below
    for tree in release.trees:
        assert sum(sum(leaf.counts.values()) for leaf in tree.leaves) == 600


REFUSED = {
    "all at once": (
        ["rdt", "--trees", "0", "--depth", "-1", "--beta", "2", "--epsilon", "0", "--seed", "-1", "--k", "-1"],
        [f"{name}: expected" for name in ("trees", "depth", "beta", "epsilon", "seed", "k")],
    ),
    "growth": (
        ["rdt", "--inducer", "cart", "--impurity", "gini", "--max-depth", "2", "--encoding", "onehot"],
        [
            f"{name}: expected none for the method rdt: it is an option of none"
            for name in ("inducer", "impurity", "max-depth", "encoding")
        ],
    ),
    "leaves": (
        ["rdt", "--min-samples-leaf", "2", "--min-samples-split", "4"],
        ["--min-samples-leaf: expected none", "--min-samples-split: expected none"],
    ),
    "rates": (["rdt", "--publish", "rates"], ["--publish: expected one of counts, found 'rates'"]),
    "kadet": (["rdt", "--l", "2"], ["it is an option of optimal, kadet"]),
    "others": (
        [
            *("none", "--trees", "2", "--depth", "2", "--beta", "0.1", "--epsilon", "1", "--vote", "sums"),
            *("--domains", "domains.json"),
        ],
        [
            f"{name}: expected none for the method none: it is"
            for name in ("trees", "depth", "beta", "epsilon", "vote", "domains")
        ],
    ),
    "no domains": (["rdt", "--domains", "gone.json"], ["gone.json: file: path: expected"]),
    "odd domains": (["rdt", "--domains", "odd.json"], ["odd.json: domains: 'A': expected a list of values"]),
    "too few values": (["rdt", "--domains", "few.json"], ["every value that occurs"]),
    "too small a range": (["rdt", "--domains", "small.json"], ["'N': expected numbers from 0 to 5, found 0 to 10"]),
    "over the domains": (["rdt", "--domains", "domains.json", "-o", "domains.json"], ["expected a file of its own"]),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(folder, capsys, case):
    (method, *options), fragments = case
    for name, change in (("odd", {"A": "wxy"}), ("few", {"A": ["w"]}), ("small", {"N": [0, 5]})):
        (folder / f"{name}.json").write_text(json.dumps({**DOMAINS, **change}))
    assert main(["defend", method, *CALL, *options, *(() if "-o" in options else ("-o", "forest.json"))]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    for fragment in fragments:
        assert fragment in printed.err
    assert not (folder / "forest.json").exists()


def test_python_takes_domains_as_they_are():
    found = maxent.defend(people(), "rdt", target="Y", qi=["A", "N"], domains={**DOMAINS, "N": (0, 10)}, epsilon=1.0)
    assert found.rows[0]["guarantee"]["epsilon"] == 1.0
    assert found.release.attributes[0].values == ("v", "w", "x", "y")
    assert found.release.target.classes == ("bad", "good", "none")
