"""Text from files as it may go to a terminal: every name, cell and message passes through here."""

from __future__ import annotations


def printable(text: object) -> str:
    r"""A text in which nothing moves the cursor, breaks the line, hides, or changes the direction of what is read.

    Control characters (C0, C1, DEL), line separators, characters without a width or that turn the direction of text,
    spaces other than the common one, lone surrogates, and code points without a character are written as escapes
    (``\x1b``, ``\u202e``), on a single line. The rest stays as it is: for Rich, give it as a `Text`, not as markup.
    """
    string = str(text)
    if string.isprintable():
        return string
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in string)
