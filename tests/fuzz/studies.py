"""Studies with something wrong in them: keys, types, paths, options that do not go together, TOML, and bytes."""

import json
import re
from typing import Any

from fuzz.case import Case, Dice
from fuzz.mutations import FOREIGN, MARK, TEXTS, Raw, changed, damaged, odd
from fuzz.tables import as_csv
from fuzz.worlds import EXAMPLE_WORLDS, World
from maxent.models.defenses.registry import method_names

NUMBERS = ("-1", "0", "1", "2", "3", "7", "0.0", "0.5", "1.0", "1.5", "-0.0", "1e-300", "1e400", "inf", "-inf", "nan")
NUMBERS += (str(2**53 - 1), str(2**53), "9" * 30, "9" * 5000, "0x10", "1_000_000_000", "2024-01-31", "12:30:00")
OPTIONS = {
    "method": [*method_names(), "default", "nothing"],
    "inducer": ["cart", "id3", "c45", "default"],
    "impurity": ["gini", "entropy", "gain_ratio"],
    "publish": ["labels", "rates", "counts", "records"],
    "encoding": ["ordinal", "appearance", "onehot"],
    "diversity": ["entropy", "distinct"],
    "rule": ["twig", "literal"],
    "distance": ["gower", "ranks"],
    "generalization": ["tiered", "uniform"],
    "vote": ["sums", "trees"],
    "rounding": ["auto", "digits", "exact"],
    "knowledge": ["label", "label,rate,counts", "marginal", "internal", "nothing", ""],
    "backend": ["auto", "newton", "ipopt", "scipy", "cvxpy", "pyomo", "no such one", ""],
    **{name: ["true", "false"] for name in ("hierarchies", "class_public", "domains", "presolve", "estimate")},
    **{name: ["1", "2", "5"] for name in ("k", "max_depth", "min_samples_leaf", "min_samples_split", "depth", "trees")},
    **{name: ["1", "2", "3"] for name in ("min_size", "background", "starts")},
    **{name: ["0.1", "0.5", "1.5"] for name in ("l", "alpha", "beta", "epsilon", "confidence", "time_limit")},
    **{name: ["1e-6", "1e-3"] for name in ("tolerance", "floor")},
}
DATA = {
    "missing": ["refuse", "category", "drop"],
    "categorical": [["Age"], ["nothing"], []],
    "private": [["Gender"], ["Salary"], [""]],
    "ignore": [["Gender"], ["Age", "Education"], "Age"],
    "text": ["strip", "exact", "refuse", "other"],
    "na": [["?"], [], "?", [1]],
    "max_memory": ["1GB", "1 byte", "0", 5],
    "csv_delimiter": ["comma", "semicolon", ","],
    "csv_decimal": ["comma", "point"],
    "test": ["people.csv", "nowhere.csv", {"Gender": "Male"}, {"Gender": "none"}, {}, {"a": 1}],
    "hierarchies": ["groups", "people.csv", "nowhere"],
    "domains": ["domains.json", "people.csv", "groups"],
    "file": ["people.csv", "../people.csv", "/nowhere/x.csv", "*.csv", ".", "study.toml", "-", "a\0b", "x" * 300],
    "target": ["Salary", "salary", "Age", ""],
    "qi": [["Education"], ["Salary"], ["Education", "Education"], [], "Education", ["nothing"]],
}
PROTOCOL = {
    "test_share": ["0.3", "0.0", "1.0", "0.999", "1e-300", "1"],
    "folds": ["2", "3", "100", "1"],
    "seeds": ["1", "2", "[1, 2]", "[1, 1]", "[-1]", "[]", "0", "[4294967296]"],
}


def case(number: int) -> Case:
    """A case by its number."""
    dice = Dice(f"studies {number}")
    people = dice.choice(EXAMPLE_WORLDS)
    study, secret = _study(people, dice), ""
    kind = dice.randrange(20)
    if kind < 12:
        for _ in range(dice.choice([1, 1, 2, 3])):
            study = _retold(study, dice)
        content = as_toml(study)
    elif kind < 15:
        content = as_toml(changed(study, dice, dice.choice([1, 2])))
    elif kind < 19:
        content = damaged(as_toml(study), dice, dice.choice([1, 1, 3]))
    else:
        content, secret = dice.choice(FOREIGN).encode(), MARK
    values = sorted({row[0] for row in people.rows})
    files = {
        "study.toml": content,
        "people.csv": as_csv(people.truth),
        f"groups/{people.header[0]}.csv": as_csv([[value, "any"] for value in values]),
        "domains.json": json.dumps({people.header[0]: values}).encode(),
    }
    call = ("sweep", "study.toml", *(("-o", "out") if dice.chance(0.08) else ("--dry-run",)))
    as_json = dice.chance(0.5)
    return Case(files, (*call, "--json") if as_json else call, as_json=as_json, secret=secret)


def _study(people: World, dice: Dice) -> dict[str, Any]:
    """A study that can run, in a second."""
    data = {"file": "people.csv", "target": people.header[-1]}
    if dice.chance(0.5):
        data |= {"qi": list(people.header[:-1])}
    study: dict[str, Any] = {"study": {"name": "a study"}, "data": {"people": data}, "protocol": {}, "defaults": {}}
    methods = dice.choices([name for name in method_names() if name != "prune-leaf"], k=dice.randint(1, 2))
    study["grid"] = [{"method": method} for method in methods]
    for block in study["grid"]:
        block |= {"max_depth": 2} if block["method"] not in ("rdt", "kadet") else {"k": [1, 2]}
    if dice.chance(0.5):
        study["defaults"]["time_limit"] = 1.0
    return study


def _retold(study: dict[str, Any], dice: Dice) -> Any:
    """A study with an entry that only makes sense in one."""
    grid, data = study.get("grid"), study.get("data")
    if not (isinstance(grid, list) and grid and isinstance(grid[0], dict) and isinstance(data, dict) and data):
        return changed(study, dice)
    others = [(study.get("defaults"), OPTIONS), (study.get("protocol"), PROTOCOL)]
    part, known = dice.choice([(dice.choice(grid), OPTIONS)] * 4 + [(dice.choice(list(data.values())), DATA), *others])
    if not isinstance(part, dict):
        return changed(study, dice)
    name = dice.choice(sorted(known))
    values = known[name]
    one = [_literal(dice.choice(values)), Raw(dice.choice(NUMBERS)), dice.choice(TEXTS), odd(dice)]
    value = dice.choices(one, [8, 3, 2, 1])[0]
    if known is OPTIONS and dice.chance(0.2):
        value = [value, _literal(dice.choice(values))]
    part[name + dice.choice(["", "", "", "", "", "s", "_"])] = value
    return study


def _literal(value: Any) -> Any:
    """A number or truth value that is written as a text, as it is; all else is kept."""
    return Raw(value) if isinstance(value, str) and re.fullmatch(r"[0-9.e-]+|true|false|\[.*\]", value) else value


# --- TOML ----------------------------------------------------------------------------------------------------------


def as_toml(document: Any) -> bytes:
    """A document as TOML; what is no table at the top is written as a value, which is none."""
    if not isinstance(document, dict):
        return _value(document).encode("utf-8", "surrogatepass")
    return "\n".join(_lines(document, ())).encode("utf-8", "surrogatepass")


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> Any:
    pairs = [*table.items(), *getattr(table, "more", ())]
    tables = [(key, value) for key, value in pairs if _is_table(value) and len(path) < 3]
    for key, value in pairs:
        if not (_is_table(value) and len(path) < 3):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in tables:
        name = ".".join(map(_key, (*path, key)))
        for each in value if isinstance(value, list) else [value]:
            yield f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
            yield from _lines(each, (*path, key))


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) for each in value)
    return isinstance(value, dict)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = [*value.items(), *getattr(value, "more", ())]
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
