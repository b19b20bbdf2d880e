"""Calls of commands and functions: what they print, and that they are refused."""

from collections.abc import Callable
from typing import Any

import pytest

from maxent.__main__ import main
from maxent.models.errors import InvalidInput


def printed_by(capsys: Any, call: list[str], status: int = 0) -> Any:
    """Standard output and error of a command that ends with this exit status."""
    found, printed = main(call), capsys.readouterr()
    assert found == status, printed
    return printed


def refusal(function: Callable[..., object], *given: Any, **named: Any) -> InvalidInput:
    """What is said of a call with invalid input."""
    with pytest.raises(InvalidInput) as found:
        function(*given, **named)
    return found.value


def refused(words: str, function: Callable[..., object], *given: Any, **named: Any) -> None:
    """Hold that a call is invalid input, in words that match."""
    with pytest.raises(InvalidInput, match=words):
        function(*given, **named)
