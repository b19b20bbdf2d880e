"""What spreadsheets would run is written so that they do not, and can be read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxent.models.files.result_files import guarded, is_formula, unguarded

ALPHABET = "=+-@'a;,|\t\r\n 15.e\"\uff1d\uff0b"


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "@SUM(A1)",
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "-",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        "-5--3",
        "+1-555",
        "-x",
    ],
)
def test_a_formula_gets_an_apostrophe(text):
    assert guarded(text).startswith("'")
    assert not is_formula(guarded(text))


@pytest.mark.parametrize("text", ["a;=1", "a\t@b", "a\n-b", "a;;=1", 'x;=HYPERLINK("http://x")'])
def test_so_does_one_that_begins_another_cell(text):
    assert guarded(text) != text
    assert not is_formula(guarded(text))


@pytest.mark.parametrize(
    "text",
    ["", "a", "-5", "+5", "-5.5", "-1e-5", "-.5", "<=50K", "42-61", "a-b", "a=b", "a,=b", "'a", "1;-5;x", "O'Brien"],
)
def test_numbers_and_other_texts_stay_as_they_are(text):
    assert guarded(text) == unguarded(text) == text


@given(st.text(ALPHABET, max_size=8))
def test_it_can_be_read_back(text):
    assert unguarded(guarded(text)) == text
    assert not is_formula(guarded(text))


@given(st.text(ALPHABET, max_size=8), st.text(ALPHABET, max_size=8))
def test_different_texts_stay_different(first, second):
    assert (guarded(first) == guarded(second)) == (first == second)
