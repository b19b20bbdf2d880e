"""Numbers of hundreds and thousands of digits, as options and in Python: refused with a sentence."""

import pytest
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.disclosure.limits import Limits

FILES = [str(D1 / "tree.json"), str(D1 / "qi.csv")]
HUGE = 10**400


@pytest.mark.parametrize("option", ["--max-certain", "--min-k", "--starts", "--seed", "--jobs", "--top"])
@pytest.mark.parametrize("text", [str(HUGE), "9" * 5000, "1e400", "nan"])
@pytest.mark.regression(number=15)
def test_options(capsys, option, text):
    assert main(["estimate", *FILES, f"{option}={text}"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{option}: expected " in printed.err


@pytest.mark.parametrize("text", ["1e400", "inf", "nan", "-1e400"])
def test_probabilities(capsys, text):
    assert main(["estimate", *FILES, f"--max-posterior={text}"]) == 2
    assert "--max-posterior: expected a probability from 0 to 1, found" in capsys.readouterr().err


@pytest.mark.parametrize("number", [HUGE, 10**5000], ids=["400 digits", "5000 digits"])
@pytest.mark.parametrize("name", ["min_k", "max_certain", "max_posterior"])
def test_limits_in_python(name, number):
    with pytest.raises(maxent.InvalidInput, match=f"{name}.*a number of about"):
        Limits(**{name: number})


def test_a_limit_of_minus_zero_is_zero():
    assert str(Limits(max_posterior=-0.0).max_posterior) == "0.0"
