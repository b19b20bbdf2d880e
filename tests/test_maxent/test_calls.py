"""One shape of call in Python: every function takes what its users have, refuses alike, and answers alike."""

import inspect
from pathlib import Path

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import maxent

QI, TARGET = ["age", "sex"], "ill"
PEOPLE = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "sex": [0, 1] * 10, TARGET: ["no", "no", "yes", "yes", "no"] * 4})
MODEL = DecisionTreeClassifier(max_depth=2, min_samples_leaf=3, random_state=0).fit(PEOPLE[QI], PEOPLE[TARGET])
SEVEN = ("estimate", "bounds", "audit", "check", "review", "advise", "compare")
HOW = {"advise": {"target": TARGET, "qi": QI, "folds": 2, "methods": ["prune-leaf"], "min_k": 2}, "review": {"qi": QI}}


class Polars:
    """What is needed of a table of polars."""

    __module__ = "polars.dataframe.frame"

    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        return self.frame


def written(frame):
    frame.to_csv("table.csv", index=False)
    return "table.csv"


TABLES = {"pandas": lambda frame: frame, "polars": Polars, "path": written}


def published(kind):
    if kind == "model":
        return MODEL
    release = maxent.convert(MODEL, target=TARGET)
    if kind == "path":
        release.save("tree.json")
        return "tree.json"
    return release


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", ["model", "release", "path"])
@pytest.mark.parametrize("name", SEVEN)
@pytest.mark.filterwarnings("ignore")
def test_models_and_tables_of_every_kind(name, kind, table, tmp_path, monkeypatch):
    """A live model, a release and a path; a table of pandas, of polars, and a path; each result has the four views."""
    monkeypatch.chdir(tmp_path)
    whole = name in {"review", "advise"}
    people = TABLES[table](PEOPLE if whole else PEOPLE[QI])
    needs = {"reading": {"target": TARGET}} if kind == "model" and name not in {"advise", "compare"} else {}
    if name == "advise":
        found = maxent.advise(people, **HOW[name])
    elif name == "compare":
        found = maxent.compare([published("release")], people)
    elif name == "check":
        found = maxent.check(published(kind), people, {"limits": {"min_k": 2}}, **needs)
    else:
        found = getattr(maxent, name)(published(kind), people, **HOW.get(name, {}), **needs)
    assert found.verdict().status in {"pass", "fail", "cannot_tell", "not stated"}
    assert isinstance(found.to_dict(), dict)
    assert "<table" in found._repr_html_()
    found.report("report.html")
    assert Path("report.html").read_text().startswith("<!")


def test_the_result_of_audit_is_the_mapping_that_it_was():
    """Beside its views the result has the keys and values of the summary."""
    release = published("release")
    assert maxent.audit(release, PEOPLE[QI]) == maxent.audit_release(release, PEOPLE[QI]).summary


@pytest.mark.parametrize("name", SEVEN)
def test_wrong_calls_are_refused_by_name(name):
    """Nothing, an unknown keyword, too many arguments, one twice, wrong types, swapped: never a bare TypeError."""
    function = getattr(maxent, name)
    first = next(iter(inspect.signature(function).parameters))
    how = HOW.get(name, {})
    for args, options in [
        ((), {}),
        ((MODEL, PEOPLE), {**how, "no_such_option": 1}),
        (tuple(range(9)), how),
        ((MODEL, PEOPLE), {**how, first: MODEL}),
        ((3, 4), how),
        ((PEOPLE, MODEL), {**how, "reading": 3}),
    ]:
        with pytest.raises(maxent.InvalidInput):
            function(*args, **options)
