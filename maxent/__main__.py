"""Where the command starts. Asking for help or the version must not wait for an import, so it is answered here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``maxent`` with some arguments (those of the process by default); the exit status."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _answer(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("maxent: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # an OSError, too, but no mistake
        # Nobody reads any more. What is still buffered must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        # Standard output cannot be written (a full disk): whatever it still holds must not fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"maxent: cannot write: {error.strerror or error}", file=sys.stderr)
        return 2
    return status


def _answer(args: list[str]) -> int:
    if not args or args[0] in ("--help", "-h"):
        with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as file:
            sys.stdout.write(file.read())
        return 0
    if args[0] == "--version":
        from maxent import __version__

        print(f"maxent {__version__}")
        return 0
    from maxent.cli import run

    return run(args)


if __name__ == "__main__":
    sys.exit(main())
