"""What is refused is named so that its name steers no terminal."""

from maxent.models.errors import ARGUMENT, Problem


def test_names_of_fields_are_printable():
    assert str(Problem(ARGUMENT, "a\tb\x1b[2J", "one", "two")).isprintable()
