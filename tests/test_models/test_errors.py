"""What is refused is named so that its name steers no terminal."""

import pickle
import traceback

import pytest

from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, MissingExtra, Problem, UnknownBackend, invalid


def test_names_of_fields_are_printable():
    assert str(Problem(ARGUMENT, "a\tb\x1b[2J", "one", "two")).isprintable()


HOSTILE = "a\x1b[2J\u202eb\r\nc\x07"


@pytest.mark.parametrize(
    "error",
    [
        invalid(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),
        UnknownBackend(HOSTILE, HOSTILE),
        MissingExtra(HOSTILE),
        MaxentError(HOSTILE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_escape_names_as_the_command_line_does(error):
    """The text of every exception, as a traceback shows it; `problems` have names as they are."""
    for found in (error, pickle.loads(pickle.dumps(error))):
        shown = traceback.format_exception_only(found)
        assert all(line.isprintable() for line in "".join(shown).rstrip("\n").split("\n"))
        assert "\\x1b[2J\\u202e" in str(found)
    if isinstance(error, InvalidInput):
        assert "\n" not in str(error)
        assert HOSTILE in (error.problems[0].found, error.problems[0].expected)
