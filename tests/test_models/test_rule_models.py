"""Rules of Weka, C5.0, CORELS and imodels: what their statements say is true of the people they were made from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import maxent
from maxent.api.convert import converted, wanted_of
from maxent.api.estimate import compile_release
from maxent.models.errors import InvalidInput
from maxent.models.statements.read import parse_statements
from tests.support.satisfied import satisfied
from tests.support.search import cases

SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds"
Test = tuple[str, str, Any]
Rules = list[tuple[list[Test], str]]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "job (ISCO)": rng.choice(["a", "b c", "d"], n),
            "urban": rng.integers(0, 2, n),
            "y": rng.choice(["no", "yes", "perhaps"][: int(rng.integers(2, 4))], n),
        }
    )


def random_rules(rng: np.random.Generator, frame: pd.DataFrame) -> Rules:
    """Rules with tests that hold for somebody, and a last one without tests."""
    found: Rules = []
    for _ in range(int(rng.integers(1, 4))):
        row = frame.iloc[int(rng.integers(len(frame)))]
        every: list[Test] = [
            ("age", "<=", int(row.age) + int(rng.integers(0, 9))),
            ("age", ">", int(row.age) - int(rng.integers(1, 9))),
            ("job (ISCO)", "=", row["job (ISCO)"]),
        ]
        chosen = rng.choice(3, size=int(rng.integers(1, 4)), replace=False)
        found.append(([every[i] for i in chosen], str(rng.choice(sorted(set(frame.y))))))
    return [*found, ([], str(rng.choice(sorted(set(frame.y)))))]


def holds(frame: pd.DataFrame, tests: list[Test]) -> np.ndarray:
    found = np.ones(len(frame), bool)
    for name, sign, value in tests:
        column = frame[name]
        found &= {"<=": lambda c, v: c <= v, ">": lambda c, v: c > v, "=": lambda c, v: c == v}[sign](column, value)
    return found


def counted(frame: pd.DataFrame, rules: Rules, ordered: bool) -> list[tuple[int, int]]:
    """People whom each rule covers, and those of another class."""
    left, found = np.ones(len(frame), bool), []
    for tests, label in rules:
        inside = holds(frame, tests) & (left if ordered else True)
        found.append((int(inside.sum()), int((frame.y[inside] != label).sum())))
        left &= ~inside if ordered else left
    return found


def jrip(frame: pd.DataFrame, rules: Rules) -> str:
    lines = []
    for (tests, label), (n, wrong) in zip(rules, counted(frame, rules, True), strict=True):
        said = " and ".join(f"({name} {sign} {value})" for name, sign, value in tests)
        lines.append(f"{said} => y={label} ({n}.0/{wrong}.0)")
    body = "\n".join(lines).replace(" > ", " >= ")
    return f"JRIP rules:\n===========\n\n{body}\n\nNumber of Rules : {len(rules)}\n"


def part(frame: pd.DataFrame, rules: Rules) -> str:
    lines = []
    for (tests, label), (n, wrong) in zip(rules, counted(frame, rules, True), strict=True):
        said = " AND\n".join(f"{name} {sign} {value}" for name, sign, value in tests)
        lines.append(f"{said}: {label} ({n}.0{f'/{wrong}.0' if wrong else ''})\n")
    body = "\n".join(lines)
    return f"PART decision list\n------------------\n\n{body}\nNumber of Rules  : \t{len(rules)}\n"


def c50(frame: pd.DataFrame, rules: Rules) -> str:
    lines = ["C5.0 [Release 2.07 GPL Edition]", "", "Class specified by attribute `y'", "", "Rules:", ""]
    for i, ((tests, label), (n, wrong)) in enumerate(zip(rules[:-1], counted(frame, rules, False), strict=False), 1):
        lines.append(f"Rule {i}: ({n}{f'/{wrong}' if wrong else ''}, lift 1.2)")
        lines += [f"\t{name} {sign} {value}" for name, sign, value in tests]
        lines += [f"\t->  class {label}  [0.5]", ""]
    return "\n".join([*lines, f"Default class: {rules[-1][1]}", ""])


def c50_saved(frame: pd.DataFrame, rules: Rules) -> str:
    lines = ['id="See5/C5.0 2.07"', 'entries="1"', f'rules="{len(rules) - 1}" default="{rules[-1][1]}"']
    for (tests, label), (n, wrong) in zip(rules[:-1], counted(frame, rules, False), strict=False):
        lines.append(f'conds="{len(tests)}" cover="{n}" ok="{n - wrong}" lift="1.2" class="{label}"')
        for name, sign, value in tests:
            cut = f'cut="{value}" result="{"<" if sign == "<=" else ">"}"'
            lines.append(f'type="{1 if sign == "=" else 2}" att="{name}" ' + (f'val="{value}"' if sign == "=" else cut))
    return "\n".join(lines) + "\n"


def corels(frame: pd.DataFrame, rules: Rules) -> str:
    """A list of binary features whose labels are those of most."""
    left, lines = np.ones(len(frame), bool), ["RULELIST:"]
    for i, (tests, _) in enumerate(rules):
        names = [f"{name}:{value}" for name, sign, value in tests if sign == "="] or ["urban"]
        inside = left & ((frame.urban == 1) if names == ["urban"] else holds(frame, [t for t in tests if t[1] == "="]))
        inside = left if not tests else inside
        most = frame.y[inside].value_counts()
        label = most.index[0] if len(most) else frame.y.iloc[0]
        begin = "else" if not tests else f"{'else ' if i else ''}if [{' && '.join(names)}]:"
        lines += [begin, f"  y = {label}"]
        left = left & ~inside
    return "\n".join(lines) + "\n"


def greedy(frame: pd.DataFrame, rules: Rules) -> str:
    """A greedy list over ages, of two classes, as imodels keeps it."""
    left, found, ones = np.ones(len(frame), bool), [], (frame.y == sorted(set(frame.y))[1]).to_numpy()
    for tests, _ in rules[:-1]:
        cut = next((value for name, sign, value in tests if sign == "<="), 40) + 0.5
        flip = len(tests) % 2 == 0
        right = left & ((frame.age < cut) if flip else (frame.age >= cut)).to_numpy()
        if not right.any() or right.sum() == left.sum():
            continue
        rest = left & ~right
        said = {"col": "age", "cutoff": cut, "flip": flip, "val": float(ones[rest].mean())}
        found.append({**said, "val_right": float(ones[right].mean()), "num_pts": int(left.sum())})
        found[-1]["num_pts_right"] = int(right.sum())
        left = rest
    return json.dumps([*found, {"val": float(ones[left].mean()), "num_pts": int(left.sum())}])


FORMATS = {
    "weka-rules": (jrip, part),
    "c50-rules": (c50, c50_saved),
    "corels": (corels, corels),
    "imodels": (greedy, greedy),
}


@pytest.mark.search
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", cases(0, 6, hunted=100))
def test_the_people_satisfy_every_row(name: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, list(FORMATS).index(name)])
    frame = people(rng, int(rng.integers(8, 60)))
    if name == "imodels":
        frame = frame[frame.y != "perhaps"]
    frame = frame.reset_index(drop=True)
    if frame.y.nunique() < 2:
        return
    rules = random_rules(rng, frame)
    writer = FORMATS[name][seed % 2]
    if writer is jrip:  # which compares with >=
        rules = [([(n, s, v) if s != ">" else (n, ">", v) for n, s, v in tests], label) for tests, label in rules]
        frame["age"] = frame["age"] * 2
        rules = [([(n, s, v * 2 - (s == ">") if n == "age" else v) for n, s, v in t], label) for t, label in rules]
    path = tmp_path / f"model.{name}"
    path.write_text(writer(frame, rules), encoding="utf-8")
    found = converted(path, wanted_of("y", train=frame))
    assert found.format == name
    assert rows_that_hold(found.release, frame, "y")


def rows_that_hold(release: maxent.Release, frame: pd.DataFrame, target: str) -> int:
    """How many rows statements have, all of which their people satisfy."""
    program = compile_release(release, frame.drop(columns=target))
    assert not program.contradictions
    classes = release.target.classes
    masses = np.zeros((len(program.table), len(classes)))
    keys = [tuple(map(str, row)) for row in program.table.frame().drop(columns="count").itertuples(index=False)]
    columns = list(program.table.frame().drop(columns="count").columns)
    people = frame[columns].fillna("(missing)").itertuples(index=False)
    for row, label in zip(people, frame[target], strict=True):
        at = next(i for i, key in enumerate(keys) if all(_alike(a, b) for a, b in zip(key, row, strict=True)))
        masses[at, classes.index(label)] += 1
    said = [row for each in program.release.statements for row in each.rows(program.table, classes)]
    for row in said:
        total = float((row.weights * (masses if row.klass is None else masses[:, row.klass])).sum())
        assert row.low <= total <= row.high, row.says
    return len(said)


RECORDED = [
    ("corels.txt", "corels_binary.csv", 3),
    ("corels.txt", "corels.csv", 3),
    ("corels_default.txt", "corels_default.csv", 1),
    ("imodels_greedy.json", "imodels.csv", 8),
    ("imodels_oner.json", "imodels.csv", 6),
    ("imodels_frugal.json", "imodels.csv", 8),
    ("weka_jrip.txt", "weka.csv", 4),
    ("weka_part.txt", "weka.csv", 10),
    ("weka_missing_jrip.txt", "weka_missing.csv", 4),
    ("weka_missing_part.txt", "weka_missing.csv", 0),
]


@pytest.mark.parametrize(("file", "people", "rows"), RECORDED)
def test_files_of_the_tools_themselves_hold_of_their_people(file: str, people: str, rows: int) -> None:
    folder = Path(__file__).parent / "rule_lists"
    frame = pd.read_csv(folder / people)
    for train in (frame, None) if people != "corels.csv" else (frame,):
        found = converted(folder / file, wanted_of("ill", sorted(set(frame.ill)), train=train))
        assert rows_that_hold(found.release, frame, "ill") == rows


def test_the_program_of_corels_prints_a_list_that_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "corels.txt").write_text("\nOPTIMAL RULE LIST\nif (1) then ({ill:yes})\n\n", encoding="utf-8")
    frame = pd.DataFrame({"age": [1, 2, 3], "ill": ["yes", "yes", "no"]})
    found = converted(tmp_path / "corels.txt", wanted_of("ill", ["no", "yes"], train=frame))
    assert rows_that_hold(found.release, frame, "ill") == 1


def test_a_fast_and_frugal_tree_says_who_is_asked_and_whom_most_are() -> None:
    """Its exits have a class in place of a share, and test with > and <=, in the form of a greedy list."""
    cue = {"col": "age", "cutoff": 40.0, "flip": False, "val_right": 1.0, "num_pts": 5, "num_pts_right": 3}
    model = type("FastFrugalTreeClassifier", (), {})()
    type(model).__module__ = "imodels.rule_list.fast_frugal_tree"
    model.rules_, model.classes_ = [cue, {"val": 0.0, "num_pts": 2}], ["no", "yes"]
    frame = pd.DataFrame({"age": [40, 41, 42, 43, 20], "y": ["no", "yes", "no", "yes", "no"]})
    found = maxent.convert(model, target="y", train=frame)
    assert rows_that_hold(found, frame, "y") == 4
    bounds = maxent.bounds(found, frame[["age"]], level="integer").frame()
    assert bounds[bounds["class"] == "yes"].low.max() == 0
    model.rules_ = [{"val": 1.0, "num_pts": 5}]  # asks nothing, and answers what most are
    told = maxent.bounds(maxent.convert(model, target="y"), frame[["age"]], level="integer").frame()
    assert told[["low", "high"]].to_numpy().tolist() == [[0.0, 0.4], [0.6, 1.0]]
    model.rules_ = [{**cue, "val_right": 0.5}, {"val": 0.0, "num_pts": 2}]
    with pytest.raises(InvalidInput, match="0 or 1, a class"):
        maxent.convert(model, target="y")


@pytest.mark.parametrize("name", ["rulefit", "skope", "boosted", "slipper"])
def test_sets_of_rules_of_imodels_are_refused_with_what_they_state(name: str) -> None:
    """None counts people of a class: the reason is of each kind."""
    words = {"rulefit": "lasso", "skope": "left out", "boosted": "the model itself is read", "slipper": "boosting"}
    with pytest.raises(InvalidInput, match=f"set of rules of imodels.*{words[name]}"):
        maxent.convert(Path(__file__).parent / "rule_lists" / f"imodels_{name}.txt", classes=["no", "yes"])


def test_a_fitted_set_of_rules_is_refused_by_its_name() -> None:
    model = type("RuleFitClassifier", (BaseEstimator,), {"fit": lambda self: self})()
    type(model).__module__ = "imodels.rule_set.rule_fit"
    with pytest.raises(InvalidInput, match=r"lasso .* FastFrugalTreeClassifier counts people, .* found RuleFit"):
        maxent.convert(model, target="y")


def _alike(one: str, other: Any) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == str(other)


def test_seeds_say_what_the_tutorial_data_show() -> None:
    for seed in ("weka-rules.txt", "weka-rules.2.txt", "c50-rules.rules", "c50-rules.2.txt", "corels.txt"):
        found = converted(SEEDS / seed, wanted_of("Salary", train=SEEDS / "train.csv"))
        assert maxent.bounds(found.release, pd.read_csv(SEEDS / "train.csv").drop(columns="Salary")).reliable, seed


@pytest.mark.parametrize(
    ("seed", "old", "new", "words"),
    [
        ("weka-rules.txt", "(4.0/1.0)", "(4.0/2.0)", "4 people covered, 3 of them right, as the training table shows"),
        ("weka-rules.txt", "Number of Rules : 3", "Number of Rules : 4", "3 rules"),
        ("weka-rules.txt", "Number of Rules : 3", "", "ends before"),
        ("weka-rules.txt", "\n === ", "\nScheme: weka.classifiers.meta.Bagging\n === ", "themselves"),
        ("weka-rules.txt", "Country =", "County =", "a test of a column"),
        ("weka-rules.2.txt", "PART d", "Scheme: weka.classifiers.rules.PART -R\n\nPART d", "not -R"),
        ("c50-rules.rules", 'entries="1"', 'entries="2"', "boosting"),
        ("c50-rules.rules", 'type="3"', 'type="7"', "a test of a value"),
        ("c50-rules.2.txt", "Default class: >50K", "", "ends before"),
        ("c50-rules.2.txt", "(5/1,", "(5/2,", "5 people covered, 4 of them right"),
        ("corels.txt", "else \n  Salary = >50K\n", "", "ends in else"),
        ("corels.txt", "Education:Masters &&", "Education:Master &&", "a column of the training table"),
    ],
)
def test_what_is_no_list_of_rules_is_refused(tmp_path: Path, seed: str, old: str, new: str, words: str) -> None:
    text = (SEEDS / seed).read_text(encoding="utf-8").replace("\n=== Cl", "\n === Cl")
    assert old in text
    path = tmp_path / seed
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidInput, match=words):
        converted(path, wanted_of("Salary", train=SEEDS / "train.csv"))


def test_fractions_state_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "part.txt"
    text = (SEEDS / "weka-rules.2.txt").read_text(encoding="utf-8")
    path.write_text(text.replace("(4.0/1.0)", "(3.62/1.0)"), encoding="utf-8")
    found = converted(path, wanted_of("Salary", ["<=50K", ">50K"]))
    assert any("fractions" in each for each in found.lost)
    assert all("n" not in rule for rule in found.release.statements[0].document["statements"][0]["rules"])


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(("u", "rows"), [([0.1, 0.4999998, 0.7, 0.9], 2), ([0.1, 0.4999998, 0.5000002, 0.9], 0)])
def test_thresholds_are_the_values_that_weka_rounded(tmp_path: Path, u: list[float], rows: int, train: bool) -> None:
    """Of two that are near neither this rule nor one that takes whom it leaves says anything, which is told."""
    path, people = tmp_path / "jrip.txt", pd.DataFrame({"u": u, "class": ["no", "yes", "yes", "yes"]})
    rules = "(u >= 0.5) => class=yes (3.0/0.0)\n => class=no (1.0/0.0)"
    path.write_text(f"JRIP rules:\n===========\n\n{rules}\n\nNumber of Rules : 2\n", encoding="utf-8")
    people.to_csv(tmp_path / "train.csv", index=False)
    wanted = wanted_of("class", ["no", "yes"], train=tmp_path / "train.csv" if train else None)
    release = converted(path, wanted).release
    assert satisfied(release, people, "class") == rows
    document = json.loads(json.dumps(release.statements[0].document))
    said = document["statements"][0]
    said["rules"] = [{key: said["rules"][0][key] for key in ("if", "label")}]
    said |= {"default": "no", "default_n": 1, "default_correct": 1}  # which alone states numbers
    for each in (release, parse_statements(document, "s.json").release):
        unread = compile_release(each, people[["u"]]).unread
        assert any("thresholds leave open" in one.what for one in unread) is not bool(rows)


def test_rules_counted_in_parts_say_nothing_where_values_are_missing() -> None:
    frame = pd.read_csv(SEEDS / "train.csv")
    frame.loc[0, "Country"] = None
    found = converted(SEEDS / "weka-rules.2.txt", wanted_of("Salary", ["<=50K", ">50K"]))
    assert not compile_release(found.release, frame.drop(columns="Salary")).linear


def test_a_fitted_rule_list_is_reviewed() -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 40), "y": rng.choice(["no", "yes"], 40)})
    model = type("GreedyRuleListClassifier", (), {})()
    type(model).__module__ = "imodels.rule_list.greedy_rule_list"
    model.rules_, model.classes_ = json.loads(greedy(frame, [([("age", "<=", 30)], "no"), ([], "no")])), ["no", "yes"]
    found = maxent.review(model, frame[["age"]], frame.y, qi=["age"], max_certain=0)
    assert found.reliable
    below = found.estimate.posterior.query("age < 30.5" if model.rules_[0]["flip"] else "age >= 30.5")
    told = (below["P(yes)"] * below["count"]).sum()
    assert told == pytest.approx(model.rules_[0]["val_right"] * model.rules_[0]["num_pts_right"], abs=1e-4)
