"""Bytes with something wrong in them, whatever they mean."""

import gzip

from fuzz.case import Dice

# What is put in between.
BYTES = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x80", b"\xed\xa0\x80", b"PAR1", b"\x1f\x8b"),
    *(b"\r", b"\n", b"\t", b'"', b"'", b",", b";", b"{", b"]", b"\\", b"=", b"#", b"-"),
    *(b"\x1b[2J", "\u202e".encode(), "\x85".encode()),
)

MARK = "Vq93kXzPw-secret"  # In every line of what is no file of ours

# Files of others, whose content must not be shown.
FOREIGN = (
    f"root:{MARK}:19000:0:99999:7:::\ndaemon:{MARK}:1:2\n",
    f'{{"password": "{MARK}", "keys": [{{"{MARK}": 1}}]}}',
    f'["{MARK}"]',
    f'password = "{MARK}"\n[{MARK}]\nkey = "{MARK}"\n',
    f"{MARK}",
    f"<html>{MARK}</html>",
    f"\x00\x01{MARK}\x7f\xff",
    f"{MARK}: {MARK}\n- {MARK}\n" * 40,
)


def damaged(content: bytes, dice: Dice, times: int = 1) -> bytes:
    """Content with some bytes changed, as often as asked."""
    for _ in range(times):
        content = dice.choice(DAMAGES)(content, dice)
    return content


def _flip(content: bytes, dice: Dice) -> bytes:
    if not content:
        return b"\x00"
    i = dice.randrange(len(content))
    return content[:i] + bytes([content[i] ^ 1 << dice.randrange(8)]) + content[i + 1 :]


def _set(content: bytes, dice: Dice) -> bytes:
    i = dice.randrange(len(content) + 1)
    return content[:i] + bytes([dice.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])]) + content[i + 1 :]


def _insert(content: bytes, dice: Dice) -> bytes:
    i = dice.randrange(len(content) + 1)
    return content[:i] + dice.choice(BYTES) * dice.choice([1, 1, 1, 2, 50]) + content[i:]


def _cut(content: bytes, dice: Dice) -> bytes:
    return content[: dice.randrange(len(content) + 1)]


def _remove(content: bytes, dice: Dice) -> bytes:
    i = dice.randrange(len(content) + 1)
    return content[:i] + content[i + dice.choice([1, 1, 2, 8, 64]) :]


def _splice(content: bytes, dice: Dice) -> bytes:
    """A piece of it once more, somewhere else."""
    i, j = sorted(dice.randrange(len(content) + 1) for _ in range(2))
    at = dice.randrange(len(content) + 1)
    return content[:at] + content[i : min(j, i + 200)] + content[at:]


def _line(content: bytes, dice: Dice) -> bytes:
    """A line less, twice, or in another place."""
    lines = content.split(b"\n")
    line = lines.pop(dice.randrange(len(lines)))
    for _ in range(dice.randrange(3)):
        lines.insert(dice.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _encoded(content: bytes, dice: Dice) -> bytes:
    """Text in another encoding, or packed."""
    text = content.decode("utf-8", "replace")
    other = dice.choice(["utf-16", "utf-16-le", "utf-32", "cp1252", "utf-8-sig", "gzip"])
    return gzip.compress(content, mtime=0) if other == "gzip" else text.encode(other, "replace")


DAMAGES = (_flip, _flip, _set, _insert, _insert, _cut, _remove, _splice, _line, _line, _encoded)
