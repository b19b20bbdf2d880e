"""What is refused is named so that its name steers no terminal."""

import pickle

from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid


def test_names_of_fields_are_printable():
    assert str(Problem(ARGUMENT, "a\tb\x1b[2J", "one", "two")).isprintable()


def test_nothing_of_a_hostile_name_acts_on_a_terminal():
    hostile = "a\u202eb\x1b[31m\x07\u2066"
    error = invalid(f"{hostile}.csv", hostile, hostile, f"one of {hostile}", hostile)
    assert str(error).isprintable()
    assert r"a\u202eb\x1b[31m\x07\u2066.csv" in str(error)
    assert str(error.problems[0]).isprintable()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    several = InvalidInput("x", [*error.problems, *error.problems])
    assert len(str(several).split("\n")) == 2
