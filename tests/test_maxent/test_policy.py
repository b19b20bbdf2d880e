"""Policies: what files say, and everything that is wrong with them, with file, line and key."""

from pathlib import Path
from typing import Any

import pytest

from maxent.models.errors import InvalidInput
from maxent.policy.policy import presets, read_policy

POLICY = """
extends = "base.toml"
name = "own"

[limits]
min_leaf = 20
[off]
MX201 = "agreed"
[adversary]
knowledge = ["label", "rate"]
background = 2
[sensitive]
classes = ["ill"]
"""
BASE = """
name = "base"
version = "1"
[limits]
min_leaf = 10
max_posterior = 0.9
[roles]
public = ["age"]
private = ["pay"]
[adversary]
facts = "facts.csv"
background = 1
[rules]
risk_appetite = "low"
"""


def test_a_policy_extends_another(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BASE, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.toml")
    changed = "1 limit relaxed: MX201 off; 1 limit tightened: min_leaf 20 (was 10); also changed: sensitive, adversary"
    assert policy.name == f"own, extends base 1; {changed}"
    assert "version" not in policy.content
    assert policy.limits == {"min_leaf": 20, "max_posterior": 0.9, "no_draws": True, "reliable": True}
    assert policy.off == {"MX201": "agreed"}
    assert policy.roles == {"age": "public", "pay": "private"}
    assert policy.sensitive == ["ill"]
    assert policy.adversary == {"knowledge": ["label", "rate"], "facts": "facts.csv", "background": 2}
    assert policy.file_of("facts") == str(tmp_path / "facts.csv")
    assert policy.rule("risk_appetite") == "low"
    assert [each.name for each in policy.files] == ["base.toml", "policy.toml"]
    again = read_policy({key: value for key, value in policy.content.items()})
    assert again.sha256 == policy.sha256
    assert policy.with_limits({"min_k": 3}).sha256 != policy.sha256


def own(name: str = "", **tables: Any) -> str:
    """The name of a policy that extends the one of SATRE."""
    return read_policy({**({"name": name} if name else {}), "extends": "satre", **tables}).name


@pytest.mark.promise(number=5)
def test_a_policy_that_extends_another_has_its_own_name() -> None:
    loose = {"min_leaf": 2, "max_pure": 3, "max_certain": 1, "exports": "allowed"}
    assert own(limits=loose) == (
        "own policy, extends SATRE 2.0.1; 4 limits relaxed: min_leaf 2 (was 10), max_pure 3 (was 0), "
        'max_certain 1 (was 0), exports "allowed" (was "by decision")'
    )
    told = 'own policy, named "SATRE", extends SATRE 2.0.1; 1 limit relaxed: MX104 off'
    assert own("SATRE", off={"MX104": "none"}) == told
    assert own(limits={"min_leaf": 20, "min_cell": 3}) == (
        "own policy, extends SATRE 2.0.1; 1 limit tightened: min_leaf 20 (was 10); 1 limit added: min_cell 3"
    )
    assert own("Ours", adversary={"knowledge": ["label"]}) == "Ours, extends SATRE 2.0.1; also changed: adversary"
    assert own("Ours", limits={"min_leaf": 10}) == "Ours, extends SATRE 2.0.1; nothing changed"
    assert own() == read_policy("satre").name == "SATRE"
    assert read_policy({"extends": "uk-llc", "limits": {"min_leaf": 5}}).name.startswith(
        "own policy, extends UK LLC (SDC page of 30 January 2026, AI policy of 20 April 2025); 1 limit relaxed: "
    )
    assert read_policy("satre").with_limits({"min_leaf": 10}).name == "SATRE"
    assert read_policy("satre").with_limits({"min_leaf": 9}).name == own(limits={"min_leaf": 9})
    assert read_policy(None).with_limits({"min_leaf": 9}).name == "limits of the call"


@pytest.mark.parametrize("name", ["SATRE", "satre", " S A T R E", "SATRE 2.0.1", "UK LLC", "uk-llc"])
def test_no_other_policy_has_the_name_of_one_that_is_shipped(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f'name = "{name}"\nversion = "2.0.1"\n[limits]\nmin_leaf = 3\n', encoding="utf-8")
    policy = read_policy(tmp_path / "a.toml")
    assert policy.name == f'own policy, named "{name}"'
    assert read_policy(policy.content).sha256 == policy.sha256
    (tmp_path / "b.toml").write_text('extends = "a.toml"\n[limits]\nmin_leaf = 4\n', encoding="utf-8")
    assert f'extends own policy, named "{name}"' in read_policy(tmp_path / "b.toml").name
    (tmp_path / "copy.toml").write_text(presets()["satre"], encoding="utf-8")
    assert read_policy(tmp_path / "copy.toml").name == read_policy(read_policy("satre").content).name == "SATRE"


def test_each_level_of_policies_says_what_it_changes(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "a"\nextends = "satre"\n[limits]\nmin_leaf = 5\n', encoding="utf-8")
    (tmp_path / "b.toml").write_text('name = "b"\nextends = "a.toml"\n[limits]\nmin_leaf = 7\n', encoding="utf-8")
    assert read_policy(tmp_path / "b.toml").name == (
        "b, extends (a, extends SATRE 2.0.1; 1 limit relaxed: min_leaf 5 (was 10)); "
        "1 limit tightened: min_leaf 7 (was 5)"
    )


@pytest.mark.parametrize(
    ("key", "strict", "loose"),
    [
        ("min_k", 10, 3),
        ("max_certain", 0, 3),
        ("p_ratio", 0.2, 0.1),
        ("max_posterior", 0.8, 0.9),
        ("nk_dominance", {"n": 2, "k": 0.8}, {"n": 2, "k": 0.9}),
        ("nk_dominance", {"n": 2, "k": 0.8}, {"n": 1, "k": 0.8}),
        ("exports", "refused", "by decision"),
        ("certificate", "global", "gap"),
        ("may_state", ["labels"], ["labels", "n"]),
        ("blocked_extensions", [".PKL", ".svg"], [".pkl"]),
        ("required_measures", ["right_guesses", "beyond_control"], ["beyond_control"]),
    ],
)
def test_which_of_two_limits_is_looser(key: str, strict: Any, loose: Any) -> None:
    told = {}
    for before, after in ((strict, loose), (loose, strict)):
        base = read_policy({"name": "base", "limits": {key: before}})
        told[str(after)] = base.with_limits({key: after}).name.partition("; ")[2]
    assert told[str(loose)].startswith(f"1 limit relaxed: {key} ")
    assert told[str(strict)].startswith(f"1 limit tightened: {key} ")


def test_what_it_says_of_the_adversary_counts(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "base.toml").write_text(BASE, encoding="utf-8")
    (tmp_path / "policy.toml").write_text('extends = "sub/base.toml"\n', encoding="utf-8")
    found = read_policy(tmp_path / "policy.toml").file_of("facts")
    assert found is not None
    assert Path(found).resolve() == (tmp_path / "sub" / "facts.csv").resolve()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\nmin_leaff = 3", "line 2, [limits]: min_leaff: expected the key of a check (maxent check --list), "
         "found an unknown key; did you mean 'min_leaf'?"),
        ("[limits]\nMX101 = 3", "found an unknown key: the limit of MX101 is min_leaf"),
        ("[limits]\nmin_leaf = 0", "min_leaf: expected a number of individuals of at least 1 (MX101), found 0"),
        ("[limits]\nmax_posterior = true", "max_posterior: expected a probability from 0 to 1 (MX201), found True"),
        ("[limits]\nnk_dominance = { n = 2 }", "nk_dominance: expected a table of n (people) and k (a share)"),
        ("[off]\nMX999 = 'x'", "line 2, [off]: MX999: expected the id of a check"),
        ("[off]\nmin_leaf = 'x'", "found an unknown id: min_leaf has the id MX101"),
        ("[limits]\nmin_leaf = 3\n[off]\nMX101 = ' '", "line 4, [off]: MX101: expected the reason, a text, found ' '"),
        ("[limits]\nmin_leaf = 3\n[off]\nMX102 = 'x'", "[off]: MX102: expected a check that the policy has a limit "
         "for (MX101), found another"),
        ("[limits]\nmin_leaf = 3\n[off]\nMX501 = 'slow'", "line 4, [off]: MX501: expected a check that can be switched "
         "off (all but MX401, MX406 and MX501), found one that cannot"),
        ("[limits]\nexact = true\n[off]\nMX401 = 'no'", "line 4, [off]: MX401: expected a check that can be switched "
         "off (all but MX401, MX406 and MX501), found one that cannot"),
        ("[limits]\nmin_leaf = 3\n[off]\nMX406 = 'shuffled'", "line 4, [off]: MX406: expected rows = \"unknown\" and "
         "rows_reason = \"why\" in [adversary], which take it back, as it is never off"),
        ("[adversary]\nrows = 'unknown'", "[adversary]: rows_reason: expected the reason, a text, found nothing"),
        ("[adversary]\nrows = 'unknown'\nrows_reason = ' '", "rows_reason: expected the reason, a text, found blanks"),
        ("[adversary]\nrows_reason = 'x'", "rows: expected \"unknown\", beside rows_reason, found nothing"),
        ("[adversary]\nrows = 'sorted'\nrows_reason = 'x'", "rows: expected \"unknown\", or nothing, found 'sorted'"),
        ("[roles]\npublic = ['a']\nprivate = ['a']", "line 3, [roles]: private: expected other columns than public"),
        ("[adversary]\nknowledge = ['labels']", "knowledge: expected a list of kinds of statements (label, rate"),
        ("[adversary]\nproof = 'best'", "proof: expected one of closed, linear, convex, integer, auto, found 'best'"),
        ("[adversry]", "adversry: expected one of"),
        ("extends = 'nowhere.toml'", "expected a policy file, or one of ehds, opensafely, satre, uk-llc, found no"),
        ("extends = 'policy.toml'", "extends: expected at most 5 policies that extend each other, found more"),
        ("limits = 3", "limits: expected a table, found 3"),
        ("x = ", "expected a TOML document"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as error:
        read_policy("policy.toml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("safe_treshold: 10", "line 1: safe_treshold: expected one of safe_threshold"),
        ("safe_threshold: ten", "line 1: safe_threshold: expected a whole number of at least 1, found 'ten'"),
        ("safe_threshold: 1\nsafe_threshold: 2", "line 2: safe_threshold: expected each key once"),
        ("safe_nk_n: 2", "safe_nk_k: expected both safe_nk_n and safe_nk_k, or neither, found nothing"),
        ("safe_nk_k: 2\nsafe_nk_n: 2", "safe_nk_k: expected a share from 0 to 1, found '2'"),
        ("zeros_are_disclosive: 2", "zeros_are_disclosive: expected True or False, found '2'"),
        ("- a", "line 1: content: expected a key, a colon and a value, as ACRO's default.yaml has"),
        ("blocked_extensions: .svg", "blocked_extensions: expected a list of extensions"),
        ("safe_threshold:", "line 1: safe_threshold: expected a whole number of at least 1, found nothing"),
        ("safe_threshold: 1\n  - a", "line 2: content: expected a key, a colon and a value"),
        ("# nothing", "content: expected keys of ACRO"),
    ],
)
def test_what_is_wrong_with_a_configuration_of_acro(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.yml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as error:
        read_policy(tmp_path / "own.yml")
    assert said in str(error.value)


@pytest.mark.parametrize("given", [{"limits": {"min_leaf": "3"}}, {"limit": {}}, {"off": {"MX101": 3}}])
def test_mappings_are_policies_too(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="policy: "):
        read_policy(given)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\xff")
    for path, said in ((tmp_path / "bytes.toml", "text in UTF-8"), (tmp_path, "a directory"), ("a\0b", "policy file")):
        with pytest.raises(InvalidInput) as error:
            read_policy(path)
        assert said in str(error.value)
