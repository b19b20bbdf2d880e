"""Tables on standard output are the same with Rich and, where nobody needs it, without."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxent.results.text import terminal

CELLS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12).filter(terminal._is_plain)


@given(st.data(), st.integers(1, 5), st.integers(0, 4))
def test_plain_tables_are_those_of_rich(data, n_columns, n_rows):
    cells = [[data.draw(CELLS) for _ in range(n_columns)] for _ in range(n_rows + 1)]
    right = [data.draw(st.booleans()) for _ in range(n_columns)]
    printed = {}
    for plain in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            lines: list[str] = []
            patch.setattr(terminal, "print_lines", lines.extend)
            if not plain:
                patch.setattr(terminal, "_is_plain", lambda cell: False)
            terminal.print_table(cells[0], cells[1:], right)
        printed[plain] = lines
    assert printed[True] == printed[False]


def test_wide_characters_take_their_room(capsys):
    terminal.print_table(["name", "n"], [["日本", "1"], ["ab", "22"]], [False, True])
    assert capsys.readouterr().out == "name   n\n日本   1\nab    22\n"


def test_rich_is_not_loaded_for_a_plain_table():
    code = "import sys; from maxent.results.text.terminal import print_table; print_table(['a'], [['1']], [True])"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}; print('rich' in sys.modules)"], capture_output=True, text=True
    )
    assert ran.stdout == "a\n1\nFalse\n"
