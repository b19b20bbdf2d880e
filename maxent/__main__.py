"""Start of the command. Help and version are answered here, as they must not wait for an import."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from maxent.command_line.room import BeforeSciPy

# Exit status: results cannot be written; and, as shells have it, Ctrl-C, and a reader that has gone (SIGPIPE).
CANNOT_WRITE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


# Clock ticks, as a power of 2, that threads of OpenBLAS wait in a loop for more work, 0.4 ms; 26 by default, 25 ms.
SPINNING = "20"

# Thresholds of the three generations of Python's garbage collector.
#
# With its default of 700 new objects libraries take a tenth longer to load.
COLLECTED = (100_000, 10, 10)


def command() -> NoReturn:
    """The process of the shell's command: `main`, and the end of it."""
    # Before NumPy is loaded. Small problems have no work for those threads: waiting is most of what they would do.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SPINNING)
    gc.set_threshold(*COLLECTED)
    sys.meta_path.insert(0, BeforeSciPy())
    status = main()
    if not sys.modules.keys().isdisjoint(("pyarrow", "maxent.solvers.control")):  # which have threads
        from maxent.solvers.control import end_process

        end_process(status)
    sys.exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``maxent`` with some arguments (those of the process by default); the exit status."""
    from maxent.command_line.streams import messages_may_be_lost, open_closed, silence

    args = list(sys.argv[1:] if argv is None else argv)
    open_closed()
    with messages_may_be_lost():
        if sys.stdout is None:
            return _cannot_write("standard output is closed (for none, send it to /dev/null)")
        try:
            return _status(args)
        except BrokenPipeError:  # an OSError, too, but no mistake
            silence(sys.stdout)
            return BROKEN_PIPE
        except OSError as error:
            if error.filename is None:  # of a stream: that of results, a full disk, say
                silence(sys.stdout)
            return _cannot_write(str(error) if error.filename is not None else error.strerror or str(error))


def _cannot_write(reason: str) -> int:
    from maxent.models.errors import printable

    print(f"maxent: cannot write: {printable(reason)}", file=sys.stderr)
    return CANNOT_WRITE


def _status(args: list[str]) -> int:
    try:
        status = _answer(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        if "--json" in args:
            from maxent.command_line.messages import as_object, plain
            from maxent.results.text.terminal import print_json

            print_json(as_object(INTERRUPTED, [plain("interrupted")]))
            sys.stdout.flush()
        print("maxent: interrupted", file=sys.stderr)
        return INTERRUPTED


def _answer(args: list[str]) -> int:
    completing = "_MAXENT_COMPLETE" in os.environ  # a shell asks what may follow
    if not completing and (not args or args[0] in ("--help", "-h")):
        import shutil

        with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as file:
            sys.stdout.write(fitted(file.read(), shutil.get_terminal_size().columns))
        return 0
    if args[:1] == ["--version"]:
        from maxent import __version__

        print(f"maxent {__version__}")
        return 0
    from maxent.commands.main import run

    return run(args)


def fitted(text: str, width: int) -> str:
    """Break long lines, at blanks; what follows is below the last column of the line. Commands stay in one line."""
    import re
    import textwrap

    lines = []
    for line in text.splitlines():
        columns = re.match(r" *(\S.*?  +)?", line)
        indent = " " * columns.end() if columns else ""
        whole = len(line) <= width or line.startswith("  maxent ")
        lines += [line] if whole else textwrap.wrap(line, max(width, 2 * len(indent)), subsequent_indent=indent)
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    command()
