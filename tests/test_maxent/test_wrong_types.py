"""Values of a wrong type are refused in Python as well, by the name of the argument."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from support.paths import D1

import maxent

# Nothing that an argument could be; and what has no truth value, compares by its values, and has no hash.
WRONG = [object(), np.arange(3)]


def calls():
    """Public functions, each with arguments that it takes."""
    people = pd.read_csv(D1 / "truth.csv")
    files = {"release": D1 / "tree.json", "qi": D1 / "qi.csv"}
    training = {"data": people, "target": "Salary", "qi": ["Education", "Country", "Gender"]}
    ranges = pd.DataFrame({"Education": ["Masters|Doctorate"] * 11, "Salary": people["Salary"]})
    return {
        "estimate": files | {"knowledge": "label"},
        "audit_release": files,
        "audit_records": {"records": ranges, "qi": people[["Education"]]},
        "check": files | {"policy": "satre"},
        "verify": {"record": "record.json"},
        "compare": {"releases": [files["release"]], "qi": files["qi"], "knowledge": "label"},
        "defend": training | {"method": "prune-parent", "k": 2},
        "cart": training,
        "sweep": {"study": "none.toml", "output": "out"},
        "Reading": {},
    }


@pytest.mark.parametrize("name", calls())
def test_what_an_argument_cannot_be_is_refused_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, given = getattr(maxent, name), calls()[name]
    refused = 0
    for argument, parameter in inspect.signature(function).parameters.items():
        for wrong in WRONG if parameter.kind is not parameter.VAR_KEYWORD else []:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(**{**given, argument: wrong})
                except maxent.InvalidInput:
                    refused += 1
    assert refused > len(given)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: maxent.sweep(3, "o"), "study: expected the path of a study file, found 3"),
        (lambda: maxent.sweep("study.toml", 3), "output: expected a folder, which may be new, found 3"),
        (lambda: maxent.sweep("study.toml", "o", data=3), "data: expected a folder, found 3"),
        (lambda: maxent.Reading(na=3), "na: expected a list of spellings, such as ['NA', '?'], found 3"),
        (lambda: maxent.bench("a.json", "b.csv", backends=3), "backends: expected names of back ends, such as"),
        (lambda: maxent.compare(3, "qi.csv"), "releases: expected a list of releases, found 3"),
        (lambda: maxent.estimate("a.json", "b.csv", progress=3), "progress: expected a function, which is called"),
        (lambda: maxent.estimate("a.json", "b.csv", presolve="no"), "presolve: expected True or False, found 'no'"),
    ],
)
def test_what_is_expected_and_found_is_said(call, said):
    with pytest.raises(maxent.InvalidInput) as error:
        call()
    assert said in str(error.value)


def test_columns_may_be_named_by_an_index_or_an_array():
    people = pd.read_csv(D1 / "truth.csv")
    named = maxent.cart(people, target="Salary", qi=list(people.columns[:3]))
    assert named == maxent.cart(people, target="Salary", qi=people.columns[:3])
    assert named == maxent.cart(people, target="Salary", qi=people.columns[:3].to_numpy())
