"""Run cases: ``python tests/fuzz FUZZER NUMBER`` shows one, ``python tests/fuzz FUZZER FIRST:LAST`` tries many."""

import sys
import time
import warnings
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from fuzz.fuzzers import FUZZERS, broken, shown  # noqa: E402
from fuzz.law import limit_memory, one_parser  # noqa: E402
from maxent.models.errors import UnreliableResult  # noqa: E402


def _show(name: str, number: int) -> int:
    print(shown(name, number))
    return 0


def _try(name: str, first: int, last: int) -> int:
    """Try cases, and print those that break the law; the number of each goes to standard error before it is tried."""
    limit_memory()
    start, found = time.process_time(), 0
    for number in range(first, last):
        print(f"{name} {number}", file=sys.stderr, flush=True)  # the last one ended the process, if one did
        report = broken(name, number)
        if report is not None:
            found += 1
            print(report, flush=True)
    print(f"{name} {first}:{last}: {found} broken, {time.process_time() - start:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in FUZZERS:
        sys.exit(f"{__doc__}\nFUZZER is one of {', '.join(FUZZERS)}")
    warnings.simplefilter("error")
    warnings.simplefilter("default", UnreliableResult)
    first, many, last = sys.argv[2].partition(":")
    with one_parser():
        sys.exit(_try(sys.argv[1], int(first), int(last)) if many else _show(sys.argv[1], int(first)))
