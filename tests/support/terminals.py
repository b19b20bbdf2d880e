"""Running the program in a terminal of its own, and what arrives there."""

import json
import os
import re
import select
import subprocess
import sys

# What Rich writes by itself: styles, hiding the cursor, moving it up, clearing a line.
STYLES = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[[0-9]*[AK]")


MANY = """
import json, sys
from maxent.__main__ import main
for call in json.loads(sys.argv[1]):
    status = main(call)
    sys.stdout.flush()
    print(f"<<ended with {status}>>", file=sys.stderr, flush=True)
"""


def many_in_terminal(calls, cwd):
    """Run maxent several times in one process: for each call its exit status, and every byte that arrives."""
    status, arrived = in_terminal([json.dumps(calls)], cwd, command=[sys.executable, "-c", MANY], timeout=300)
    assert status == 0, arrived
    *parts, rest = re.split(rb"<<ended with (\d+)>>\r\n", arrived)
    assert (len(parts), rest) == (2 * len(calls), b"")
    return [(int(status), text) for text, status in zip(parts[::2], parts[1::2], strict=True)]


def in_terminal(arguments, cwd, term="xterm-256color", command=(sys.executable, "-m", "maxent"), timeout=120):
    """Run maxent with standard output and error in a terminal: its exit status, and every byte that arrives."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    environment = {**os.environ, "TERM": term, "PYTHONIOENCODING": "utf-8"}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        environment.pop(name, None)
    terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen([*command, *arguments], cwd=cwd, env=environment, **terminal) as process:
        os.close(theirs)
        arrived = b""
        while select.select([ours], [], [], timeout)[0]:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # Linux: the other end is closed
                break
            if not piece:
                break
            arrived += piece
        os.close(ours)
    return process.returncode, arrived


def steering(arrived):
    """Characters that would steer a terminal or hide something, except ends of lines and those of Rich."""
    text = STYLES.sub(b"", arrived).replace(b"\r\n", b"\n").replace(b"\r", b"").decode()
    return sorted({character for character in text if not character.isprintable()} - {"\n"})
