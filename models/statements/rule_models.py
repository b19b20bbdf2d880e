"""Readers of rules as statements ``rules``: Weka's JRip and PART, C5.0, CORELS, and rule lists of imodels.

Each says of the people whom a rule covers how many there are, and how many have its class, as its tool counts them: in
a list those whom no rule before it covers, in a set all whom it covers. With the training table all that is counted
again, and a file that it contradicts is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from maxent.models.arguments import shorten, shorten_list
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, read_text
from maxent.models.formats.proof import TrainingColumns, read_training
from maxent.models.formats.release_reader import UNNAMED, Converted, Head, Wanted, model_reader
from maxent.models.statements.glm_models import fitted, is_regression, whole
from maxent.models.statements.read import FORMAT, parse_statements
from maxent.models.statements.rules import placed
from maxent.models.statements.statement import SIGNS
from maxent.models.tables.cells import holds_numbers, numbers
from maxent.models.trees.places import single_at_most

if TYPE_CHECKING:
    from os import PathLike

    from maxent.models.arrays import BoolArray
    from maxent.models.reading import Reader

Rule = dict[str, Any]

_WEIGHTS = "weights of cases: numbers are those of people if there were none"
_FRACTIONS = "numbers of people, which are fractions: rows were weighted, or lacked values"
# By how much Weka rounds a threshold, which is the value of somebody, to six decimals.
_SIXTH = 5.01e-7
_LABELS = "numbers of people: CORELS prints labels alone, each that of most of those whom its rule covers"


@dataclass(slots=True)
class RuleText:
    """Rules of a file as far as they were read, and what is wrong at a line of it."""

    source: str
    training: TrainingColumns | None
    target: str | None
    within: float = 0.0
    single: bool = False
    rules: list[Rule] = field(default_factory=list)
    lost: dict[str, None] = field(default_factory=dict)

    def refuse(self, where: str, expected: str, found: str) -> NoReturn:
        raise invalid(self.source, where, "rules", expected, shorten(found))

    def test(self, text: str, where: str) -> Rule:
        """A test of a column, such as ``age <= 37``, ``region = north`` or ``job in {a, b}``."""
        signs = "<=|>=|!=|=|<|>|in(?= \\{)"
        names = [] if self.training is None else [a.name for a in self.training.attributes]
        known = [name for name in names if re.match(rf" ?(?:{signs}) ", text[len(name) :]) and text.startswith(name)]
        found = list(re.finditer(rf" ?({signs}) ", text))
        if not found or (names and not known) or (not names and len(found) > 1):
            self.refuse(where, "a test of a column such as age <= 37 (train= names the columns)", text)
        name = max(known, key=len) if known else text[: found[0].start()]
        match = re.match(rf" ?({signs}) (.*)", text[len(name) :])
        if match is None or not name:
            self.refuse(where, "a test of a column such as age <= 37", text)
        sign, value = match[1], match[2].strip()
        if sign == "in":
            return {"column": name, "in": [part.strip() for part in value.strip("{}").split(",")]}
        if sign in ("=", "!="):
            if sign == "!=":
                self.refuse(where, "tests of columns for a value, or of numbers", text)
            return {"column": name, "in": [value]}
        return self.limit(name, sign, value, where)

    def limit(self, name: str, sign: str, value: str, where: str) -> Rule:
        """A test of numbers; of single precision that of the doubles that are told apart so."""
        try:
            limit = float(value)
        except ValueError:
            limit = np.nan
        if not isfinite(limit):
            self.refuse(where, "a number that a column is compared with", value)
        if self.single:
            limit = single_at_most(limit)
        return {"column": name, {"<=": "le", ">=": "ge", "<": "lt", ">": "gt"}[sign]: limit}

    def add(self, tests: Sequence[Rule], label: str, n: str | None, wrong: str | None, **more: Any) -> None:
        """A rule with its numbers, as they are printed: people, and those of another class."""
        rule: Rule = {"if": [dict(each) for each in tests], "label": label, **more}
        if n is not None:
            covered, errors = float(n), float(wrong or 0)
            if not covered.is_integer() or not errors.is_integer():
                self.lost[_FRACTIONS] = None
            else:
                rule |= {"n": int(covered), "correct": int(covered - errors)}
        self.rules.append(rule)

    def converted(
        self,
        wanted: Wanted,
        tool: str,
        *,
        ordered: bool,
        known: Sequence[str] = (),
        missing: str = "uncovered",
        default: str | None = None,
    ) -> Converted:
        """All rules as one statement."""
        if _FRACTIONS in self.lost:  # where some rows count in parts, whole numbers may be sums of these, too
            self.rules = [{key: rule[key] for key in rule if key not in ("n", "correct")} for rule in self.rules]
        labels = dict.fromkeys([*(rule["label"] for rule in self.rules), *([] if default is None else [default])])
        classes = list(wanted.classes or (self.training.classes if self.training else ()) or known or sorted(labels))
        if unknown := [label for label in labels if label not in classes]:
            self.refuse("document", f"labels that are classes: {shorten_list(classes)} (classes=)", str(unknown[0]))
        if len(classes) < 2:
            expected = "two classes; the rules name fewer: classes=, or train= with target=, names all"
            self.refuse("document", expected, shorten_list(classes))
        if self.training is not None and self.target is not None:
            _check(self, ordered)
        said: Rule = {"kind": "rules", "source": tool, "ordered": ordered, "missing": missing, "rules": self.rules}
        if default is not None:
            said["default"] = default
        if self.within and any({*SIGNS} & test.keys() for rule in self.rules for test in rule["if"]):
            said["within"] = self.within
        target = {"name": wanted.target or self.target or UNNAMED, "classes": classes}
        document = {"format": FORMAT, "target": target, "statements": [said]}
        return Converted(parse_statements(document, self.source).release, tool, tuple(self.lost))


def _check(text: RuleText, ordered: bool) -> None:
    """Count the training table again, and refuse numbers of rules that are not those of it."""
    training, target = text.training, text.target
    if training is None or target is None or target not in training.frame.columns:
        return
    column = training.frame.columns[target]
    labels = np.array([*column.texts(), ""], object)[column.codes]
    left = np.ones(len(labels), bool)
    for i, rule in enumerate(text.rules, 1):
        covered = np.ones(len(labels), bool)
        tests = [_placed(training, test, text.within) for test in rule["if"]]
        if None in tests:
            if ordered:
                return
            continue
        for test in filter(None, tests):
            covered &= _holds(training, test)
        inside = covered & left if ordered else covered
        counted = int(inside.sum()), int((labels[inside] == rule["label"]).sum())
        if "n" in rule and counted != (rule["n"], rule.get("correct", counted[1])):
            expected = f"{counted[0]:,} people covered, {counted[1]:,} of them right, as the training table shows"
            text.refuse(f"rule {i}", expected, f"{rule['n']:,} and {rule.get('correct', counted[1]):,}")
        left &= ~covered


def _placed(training: TrainingColumns, test: Rule, within: float) -> Rule | None:
    """A test with the value that its limit was rounded from; None where several are near it."""
    column = training.frame.columns.get(test["column"])
    if column is None or not within or not holds_numbers(column):
        return test
    found = {key: placed(x, numbers(column), within) if key in SIGNS else x for key, x in test.items()}
    return None if None in found.values() else found


def _holds(training: TrainingColumns, test: Mapping[str, Any]) -> BoolArray:
    """Whether a test holds for each row of the training table; for none without a value."""
    column = training.frame.columns.get(test["column"])
    if column is None:
        raise invalid("train", "table", test["column"], "a column of this name, which a rule tests", "none")
    if "in" in test:
        texts = np.array([*column.texts(), ""], object)[column.codes]
        named = [str(value) for value in test["in"]]
        if holds_numbers(column):
            return np.isin(np.append(numbers(column), np.nan)[column.codes], [float(value) for value in named])
        return np.isin(texts, named) & (column.codes >= 0)
    values = np.append(numbers(column), np.nan)[column.codes]
    compare = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}
    found = np.ones(len(values), bool)
    for sign, limit in test.items():
        if sign in compare:
            found &= compare[sign](values, limit)
    return found


def _text(path: str | PathLike[str], wanted: Wanted, reader: Reader, **more: Any) -> RuleText:
    """An empty text of a file; values of columns that are numbers in the training table are numbers in tests."""
    return RuleText(shown_path(path), read_training(wanted, reader), wanted.target, **more)


# Weka: ``(age <= 37) and (job = a) => class=yes (20.0/3.0)`` of JRip, ``age <= 37: yes (20.0/3.0)`` of PART.

_JRIP = re.compile(r"^JRIP rules:[ \t]*\r?\n=+[ \t]*$", re.MULTILINE)
_PART = re.compile(r"^PART decision list[ \t]*\r?\n-+[ \t]*$", re.MULTILINE)
_COUNTS = r"\(([0-9]{1,15}(?:\.[0-9]+)?)(?:/([0-9]{1,15}(?:\.[0-9]+)?))?\)"
_SCHEME = re.compile(r"^(?:Scheme|Options):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_MATRIX = re.compile(r"^[ 0-9.]+\| +[a-z]+ = (.+?)\r?$", re.MULTILINE)


@model_reader(
    "weka-rules",
    "rules that Weka printed: JRip or PART",
    lambda head: _JRIP.search(head.text) is not None or _PART.search(head.text) is not None,
    states=True,
)
@whole
def _weka(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    content = read_text(path).replace("\r\n", "\n")
    found = _text(path, wanted, reader, within=_SIXTH)
    jrip, part = list(_JRIP.finditer(content)), list(_PART.finditer(content))
    if len(jrip) + len(part) != 1:
        found.refuse("document", "one list of rules of JRip or PART", f"{len(jrip) + len(part)} lists")
    for scheme in _SCHEME.finditer(content):
        if scheme[1].startswith("weka.classifiers.") and not re.match(
            r"weka\.classifiers\.rules\.(JRip|PART)\b", scheme[1]
        ):
            found.refuse("document", "rules of JRip or PART themselves, not within another scheme", scheme[1])
        if part and re.search(r"(^|\s)-R\b", scheme[1]):
            found.refuse("document", "rules that count all rows: not -R, which holds some out", scheme[1])
    begin = (jrip or part)[0].end()
    first = content[:begin].count("\n") + 1
    body = content[begin:].partition("\nNumber of Rules")
    if not body[1]:
        found.refuse("document", "the rules, and their number below", "a text that ends before")
    printed = tuple(
        m[1].rstrip() for m in _MATRIX.finditer(body[2].partition("<-- classified as\n")[2].partition("\n\n")[0])
    )
    for number, line in _weka_rules(body[0], bool(jrip)):
        _weka_rule(found, line, f"line {first + number}", bool(jrip))
    if not found.rules or found.rules[-1]["if"]:
        found.refuse("document", "a last rule without tests, which covers all others", "none")
    if (said := re.match(r"\s*:\s*([0-9]+)", body[2])) is None or int(said[1]) != len(found.rules):
        found.refuse("document", f"{len(found.rules)} rules, as they are printed", body[2][:20].strip())
    found.lost[_WEIGHTS] = None
    tool = f"Weka {'JRip' if jrip else 'PART'}"
    return found.converted(wanted, tool, ordered=True, known=printed, missing="uncovered" if jrip else "unknown")


def _weka_rules(body: str, jrip: bool) -> Iterator[tuple[int, str]]:
    """The rules of a list, each as one line, with the number of its last one."""
    held: list[str] = []
    for number, line in enumerate(body.split("\n")):
        if line.strip():
            held.append(line.strip())
        if held and not held[-1].endswith(" AND"):
            yield number, " ".join(held)
            held = []
    if held:
        yield 0, " ".join(held)


def _weka_rule(found: RuleText, line: str, where: str, jrip: bool) -> None:
    ending = re.fullmatch(rf"(.*?) ?{_COUNTS}", line)
    if ending is None:
        found.refuse(where, "a rule with its numbers, such as (20.0/3.0)", line)
    head, n, wrong = ending[1], ending[2], ending[3]
    if jrip:
        tests, _, says = head.rpartition("=> ")
        name, _, label = says.partition("=")
        if found.target is not None and says.startswith(f"{found.target}="):
            name, label = found.target, says[len(found.target) + 1 :]
        elif "=" in label:
            found.refuse(where, "the class after one sign = (target= names its column)", says)
        elif found.target is not None:
            found.refuse(where, f"rules about {found.target}", says)
        found.target = name
        inner = tests.strip()
        if inner and not (inner.startswith("(") and inner.endswith(")")):
            found.refuse(where, "tests in brackets", inner)
        parts = inner[1:-1].split(") and (") if inner else []
    else:
        classes = found.training.classes if found.training is not None else ()
        fits = [c for c in classes if head.endswith(f": {c}")]
        label = max(fits, key=len) if fits else head.rpartition(": ")[2]
        inner = head[: len(head) - len(label)].rstrip().removesuffix(":").rstrip()
        if not fits and head.count(": ") > 1:
            found.refuse(where, "one colon before the class (train= and target= name the classes)", head)
        parts = inner.split(" AND ") if inner else []
    found.add([found.test(each.strip(), where) for each in parts], label.strip(), n, wrong)


# C5.0: a set of rules, each about all whom it covers; ``model.rules`` has them as attributes, the text as it prints.

_ENTRY = re.compile(r'(?:([a-z]+)=|,)"((?:[^"\\]|\\.)*)"')
_C50_RULE = re.compile(r"^Rule [0-9/]+: \(([0-9.]+)(?:/([0-9.]+))?, lift [0-9.]+\)\s*$")
_C50_LABEL = re.compile(r"^\s*->\s+class (.*?)\s+\[[0-9.]+\]\s*$")
_C50_HEAD = re.compile(r"^C5\.0 \[Release", re.MULTILINE)


def _c50_recognise(head: Head) -> bool:
    saved = re.match(r'id="(?:See5/)?C5\.0[^"]*"\s*\n(?:[a-z]+="[^\n]*\n){0,3}?rules="', head.text) is not None
    printed = _C50_HEAD.search(head.text) is not None and re.search(r"^Rules:", head.text, re.MULTILINE) is not None
    return saved or (printed and re.search(r"^-----  Trial ", head.text, re.MULTILINE) is None)


@model_reader("c50-rules", "rules of C5.0, saved or printed", _c50_recognise, states=True)
@whole
def _c50(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    content = read_text(path).replace("\r\n", "\n")
    found = _text(path, wanted, reader, single=True)
    found.lost[_WEIGHTS] = None
    default = _c50_saved(found, content) if content.lstrip().startswith('id="') else _c50_printed(found, content)
    if found.training is not None:
        _as_in_table(found)
    if not found.rules:
        found.refuse("document", "at least one rule", "none")
    return found.converted(wanted, "C5.0", ordered=False, missing="unknown", default=default)


def _as_in_table(found: RuleText) -> None:
    """Values as the training table has them: numbers of columns of these, and of others those that somebody has."""
    assert found.training is not None
    for test in (test for rule in found.rules for test in rule["if"] if "in" in test):
        column = found.training.frame.columns.get(test["column"])
        if column is None:
            continue
        if holds_numbers(column):
            test["in"] = [float(value) for value in test["in"]]
        else:
            texts = column.texts()
            test["in"] = [value for value in test["in"] if value in texts] or test["in"]


def _c50_saved(found: RuleText, content: str) -> str | None:
    default, left, tests, entry = None, 0, list[Rule](), dict[str, str]()
    for number, line in enumerate(content.split("\n"), 1):
        pairs: list[tuple[str, str]] = []
        for m in _ENTRY.finditer(line):  # a list is one key and several texts
            pairs.append((m[1] or (pairs[-1][0] if pairs else ""), re.sub(r"\\(.)", r"\1", m[2])))
        keys, where = dict(pairs), f"line {number}"
        if "entries" in keys and keys["entries"] != "1":
            found.refuse(where, 'entries="1": of boosting the cases of later ones are weighted', line)
        if "rules" in keys:
            default = keys.get("default")
        elif "conds" in keys:
            entry, left, tests = keys, int(keys["conds"]), []
        elif "type" in keys and left:
            tests.append(_c50_test(found, keys, pairs, where))
            left -= 1
        if entry and not left:
            wrong = f"{float(entry['cover']) - float(entry['ok']):g}"
            found.add(tests, entry["class"], entry["cover"], wrong)
            entry = {}
    return default


def _c50_test(found: RuleText, keys: Mapping[str, str], pairs: Sequence[tuple[str, str]], where: str) -> Rule:
    name, kind = keys["att"], keys["type"]
    if kind == "1" and "val" in keys:
        return {"column": name, "in": [keys["val"]]}
    if kind == "2" and keys.get("result") in ("<", ">"):
        return found.limit(name, "<=" if keys["result"] == "<" else ">", keys["cut"], where)
    if kind == "3":
        return {"column": name, "in": [value for key, value in pairs if key == "elts"]}
    found.refuse(where, "a test of a value, of a number, or of some values", name)


def _c50_printed(found: RuleText, content: str) -> str | None:
    if re.search(r"^-----  Trial ", content, re.MULTILINE) or re.search(r"Use [0-9.]+% of data", content):
        found.refuse("document", "rules of all cases, without boosting and sampling", "trials, or a sample")
    _, begin, body = content.partition("\nRules:")
    said = re.search(r"^Class specified by attribute `(.*)'", content, re.MULTILINE)
    found.target = found.target or (said[1] if said else None)
    first, default, numbers_of, tests = content[: len(content) - len(body)].count("\n"), None, None, list[Rule]()
    for number, line in enumerate(body.split("\n"), first + 1):
        where = f"line {number}"
        if (start := _C50_RULE.match(line)) is not None:
            numbers_of, tests = start, []
        elif (end := _C50_LABEL.match(line)) is not None and numbers_of is not None:
            found.add(tests, end[1], numbers_of[1], numbers_of[2])
            numbers_of = None
        elif (other := re.match(r"^Default class: (.*?)\s*$", line)) is not None:
            default = other[1]
            break
        elif line.strip() and numbers_of is not None:
            tests.append(found.test(line.strip(), where))
    if not begin or default is None or numbers_of is not None:
        found.refuse("document", "rules, and the default class below", "a text that ends before")
    return default


# CORELS: the label of a rule is that of most of those whom it covers. Its program and its package print lists.

_IF = re.compile(r"^(?:else )?if (\[.*\]|\(\{.*\}\))(?::| then \(\{(.*)\}\))\s*$")


@model_reader(
    "corels",
    "a rule list that CORELS printed",
    lambda head: re.search(r"^(RULELIST:|OPTIMAL RULE LIST)\s*$", head.text, re.MULTILINE) is not None,
    states=True,
)
@whole
def _corels(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    found = _text(path, wanted, reader)
    lines = [line.strip() for line in read_text(path).split("\n")]
    begin = next((i for i, line in enumerate(lines) if line in ("RULELIST:", "OPTIMAL RULE LIST")), None)
    if begin is None:
        found.refuse("file", "what CORELS prints, with a line RULELIST: or OPTIMAL RULE LIST", "no such line")
    tests: list[Rule] = []
    waits, ended = False, False
    for number, line in enumerate(lines[begin + 1 :], begin + 2):
        where = f"line {number}"
        match = _IF.match(line)
        if match is not None and not waits:
            tests = [_binary(found, each, where) for each in _features(match[1])]
            waits = match[2] is None
            if not waits:
                _corels_rule(found, tests, match[2], wanted, where)
        elif line.startswith(("else", "if (1) then")):
            tests, said = [], re.match(r"^(?:else|if \(1\) then) \(\{(.*)\}\)$", line)
            waits, ended = said is None, True
            if said is not None:
                _corels_rule(found, tests, said[1], wanted, where)
                break
        elif line and (waits or not found.rules):
            _corels_rule(found, tests, line, wanted, where)
            waits = False
            if ended or not tests:
                ended = True
                break
    if not ended or waits or not found.rules:
        found.refuse("document", "a list of rules that ends in else", "a text that ends before")
    found.lost[_LABELS] = None
    known = list(wanted.classes or ("False", "True"))
    return found.converted(wanted, "CORELS", ordered=True, known=known)


def _features(text: str) -> list[str]:
    return text[1:-1].split(" && ") if text.startswith("[") else text[2:-2].split(",")


def _corels_rule(found: RuleText, tests: Sequence[Rule], says: str, wanted: Wanted, where: str) -> None:
    name, label = (part.strip() for part in re.split(r" = |:(?=[^:]*$)", says, maxsplit=1))
    found.target = found.target or name
    if wanted.classes is not None and label in ("True", "False", "0", "1") and label not in wanted.classes:
        label = wanted.classes[label in ("True", "1")]
    found.add(tests, label, None, None, majority=True)


def _binary(found: RuleText, feature: str, where: str) -> Rule:
    """A test of a binary column, by its own name, or by column and value (``job:a``, ``job=a``)."""
    holds = not feature.startswith("not ")
    name = feature.removeprefix("not ").strip().strip("{}")
    if found.training is None:
        return {"column": name, "in": [1 if holds else 0]}
    attribute = found.training.named(name)
    if attribute is not None:
        if attribute.values is None:
            return {"column": name, "in": [1 if holds else 0]}
        pair = next((p for p in (("False", "True"), ("no", "yes"), ("0", "1")) if set(attribute.values) <= {*p}), None)
        if pair is not None:
            return {"column": name, "in": [pair[holds]]}
    for column, value in re.findall(r"^(.*?)[:=](.*)$", name):
        part = found.training.named(column)
        if part is not None and part.values is not None and value in part.values:
            return {"column": column, "in": [v for v in part.values if (v == value) == holds]}
    found.refuse(where, "a column of the training table, of two values, or COLUMN:VALUE", feature)


# imodels: ``rules_`` of a rule list, as JSON or of a model that is there.


def imodels_rules(rules: Any, found: RuleText, wanted: Wanted) -> Converted:
    """The rules of a greedy list or one rule, which count those that are left, or of a `FastFrugalTreeClassifier`.

    The latter test with > and <=, have no share of those who go on, and say the class of most in its place.
    """
    classes = wanted.classes or (found.training.classes if found.training is not None else ()) or ("0", "1")
    if len(classes) != 2 or not isinstance(rules, list) or not rules:
        found.refuse("document", "rules of two classes", shorten_list(list(classes)))
    if not all(isinstance(rule, dict) for rule in rules):
        found.refuse("document", "rules_ of a greedy rule list, OneR or a fast-and-frugal tree", "other rules")
    # A greedy list that asks nothing has people of both classes.
    frugal = "val" not in rules[0] if len(rules) > 1 else float(rules[0].get("val", 0)) in (0.0, 1.0)
    for i, rule in enumerate(rules, 1):
        where = f"rule {i}"
        last = "col" not in rule
        if last and i < len(rules):
            found.refuse(where, "a rule with its column, col", "none")
        tests: list[Rule] = []
        if not last:
            sign = ("le" if rule["flip"] else "gt") if frugal else "lt" if rule["flip"] else "ge"
            tests = [{"column": str(rule["col"]), sign: float(rule["cutoff"])}]
        n = int(rule["num_pts"] if last else rule["num_pts_right"])
        share = float(rule["val"] if last else rule["val_right"])
        if frugal:
            if share not in (0.0, 1.0):
                found.refuse(where, "0 or 1, a class", str(share))
            found.add(tests, classes[int(share)], None, None, majority=True)
            found.rules[-1]["n"] = n
            continue
        ones = share * n
        if abs(ones - round(ones)) > 1e-6 * max(n, 1):
            found.refuse(where, f"a share of whole people of {n:,}", str(rule["val" if last else "val_right"]))
        label = int(round(ones) * 2 > n)
        found.add(tests, classes[label], str(n), str(n - round(ones) if label else round(ones)))
    found.lost[_WEIGHTS] = None
    return found.converted(wanted, "imodels", ordered=True, known=classes)


@model_reader(
    "imodels",
    "rules_ of a greedy rule list, OneR or fast-and-frugal tree of imodels, as JSON",
    r'\[\s*\{[^}]*"(?:cutoff|num_pts)":',
    states=True,
)
@whole
def _imodels(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    found = _text(path, wanted, reader)
    try:
        rules = json.loads(bytes_of(os.fspath(path)))
    except ValueError as error:
        found.refuse("document", "JSON: rules_ of a rule list", str(error))
    return imodels_rules(rules, found, wanted)


def is_rule_list(model: object) -> bool:
    """Whether a fitted model is a rule list of imodels whose rules count people."""
    rules = getattr(model, "rules_", None)
    known = type(model).__module__.startswith("imodels.rule_list.") and isinstance(rules, list)
    return known and all(isinstance(rule, dict) for rule in rules or ())


def is_statement(model: object) -> bool:
    """Whether a fitted model is read as statements: a regression of scikit-learn, or a rule list of imodels."""
    return is_regression(model) or is_rule_list(model)


def fitted_statements(model: Any, wanted: Wanted, reader: Reader, source: str) -> Converted:
    """A fitted model as statements."""
    if is_regression(model):
        return replace(fitted(model, wanted, reader, source), format="glm")
    found = RuleText(source, read_training(wanted, reader), wanted.target)
    said = replace(wanted, classes=wanted.named_classes(map(str, getattr(model, "classes_", ("0", "1")))))
    return replace(imodels_rules(model.rules_, found, said), format="imodels")
