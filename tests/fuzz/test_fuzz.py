"""Cases keep the law: of each fuzzer the first sixty or less, and 300 in slow tests; `make hunt` has others."""

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.case import Case
from fuzz.fuzzers import FUZZERS, broken
from fuzz.law import one_parser, outcome
from maxent.models.errors import invalid

SLICE = 60  # Cases of each fuzzer in the default suite

ALL = 300  # Cases of each fuzzer in the slow tests

FEW, MANY = 8, 24  # Cases of fuzzers that take longer: in the default suite, and in the slow tests

LONGER = ("decisions",)  # Those of whole searches


def tried_apart(name: str, first: int, last: int) -> None:
    """Try cases in a process of its own, which libraries that read damaged files may take down, in bounded memory."""
    command = [sys.executable, str(Path(__file__).parent), name, f"{first}:{last}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    assert done.returncode in (0, 1), f"ended with {done.returncode} after {done.stderr[-2_000:]}"
    assert done.returncode == 0, done.stdout


APART = ("models", "tables")  # Fuzzers of files that libraries in C++ read


@pytest.mark.parametrize("name", sorted(FUZZERS.keys() - {*APART}))
def test_the_first_cases_keep_the_law(name):
    with one_parser():
        many = FEW if name in LONGER else SLICE
        found = [report for number in range(many) if (report := broken(name, number)) is not None]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", APART)
def test_the_first_files_keep_the_law(name):
    tried_apart(name, 0, SLICE // 2)  # files take longer than other cases


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZERS)
def test_more_cases_keep_the_law(name):
    tried_apart(name, 0, MANY if name in LONGER else ALL)


@pytest.mark.parametrize("name", FUZZERS)
def test_a_case_is_the_same_each_time(name):
    for number in range(20):
        one, other = FUZZERS[name](number), FUZZERS[name](number)
        assert (one.files, one.arguments, one.secret) == (other.files, other.arguments, other.secret)


def refusing(text):
    def call():
        raise invalid("qi.csv", "line 2", "Age", "a number", text)

    return call


def writing(name, text, then):
    def call():
        Path(name).write_text(text, encoding="utf-8")
        then()

    return call


BREACHES = {
    "ZeroDivisionError": lambda: 1 // 0,
    "SystemExit": sys.exit,
    "characters that steer a terminal": lambda: print("\x1b[2J", file=sys.stderr),
    "content of a file that is none of ours": refusing("hunter2"),
    "a message of": refusing("x" * 5_000),
    "'qi.csv', an input, was changed": writing("qi.csv", "", lambda: None),
    "a refusal, and 'out.csv' was written": writing("out.csv", "a\n", refusing("x")),
    "'out.json' is not whole": writing("out.json", '{"a": 1', lambda: None),
    "'.maxent-1.tmp' was left behind": writing(".maxent-1.tmp", "", lambda: None),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_the_law_is_kept_by_nothing_that_breaks_it(breach):
    found = outcome(Case({"qi.csv": b"Age\n1\n"}, python=BREACHES[breach], secret="hunter2"))
    assert found.broken is not None
    assert found.broken.startswith(breach)


def test_the_law_is_kept_by_a_result_and_by_a_refusal():
    assert outcome(Case({}, python=writing("out.json", "{}", lambda: None))).broken is None
    assert outcome(Case({}, python=refusing("x"))).broken is None
    assert outcome(Case({}, ("audit", "none.json", "--json"), as_json=True)).broken is None
    told = outcome(Case({}, ("audit", "none.json"), as_json=True)).broken
    assert told is not None
    assert told.startswith("no JSON on standard output")
