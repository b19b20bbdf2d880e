"""How long the command line takes to start: python benchmarks/startup.py.

`python -c pass`, `maxent --help` and `maxent estimate` on the eleven people of examples/d1, each in processes of their
own, one after the other in every round so that a busy machine slows all of them alike. Printed are medians over the
rounds, of the time until the process ends and of the processor's, and the latter's ratio to the bare interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

D1 = Path(__file__).parents[1] / "examples" / "d1"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "maxent --help": ["-m", "maxent", "--help"],
    "maxent estimate (d1)": ["-m", "maxent", "estimate", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--json"],
}
BARE = "python -c pass"
CACHING = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""The environment of the processes: they may keep what Python compiles, as it does where maxent is installed."""


@dataclass(frozen=True)
class Taken:
    """Seconds of one process: on the clock, and of the processor."""

    clock: float
    processor: float


def run(name: str, arguments: list[str]) -> Taken:
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([sys.executable, *arguments], stdout=output, stderr=output, env=CACHING)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        clock = time.perf_counter() - begin
        if code:
            output.seek(0)
            raise SystemExit(f"{name}: exit status {code}\n{output.read().strip()}")
    return Taken(clock, usage.ru_utime + usage.ru_stime)


def measure(rounds: int) -> dict[str, Taken]:
    """Medians of every command, after a first round that only warms the caches."""
    runs = [{name: run(name, arguments) for name, arguments in COMMANDS.items()} for _ in range(rounds + 1)][1:]
    return {
        name: Taken(
            statistics.median(taken[name].clock for taken in runs),
            statistics.median(taken[name].processor for taken in runs),
        )
        for name in COMMANDS
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    call = parser.parse_args()
    if call.rounds < 1:
        parser.error("--rounds must be at least 1")
    medians = measure(call.rounds)
    if call.json:
        print(json.dumps({"rounds": call.rounds, "median_seconds": {name: asdict(t) for name, t in medians.items()}}))
        return 0
    print(f"{'command':<22}{'clock s':>9}{'processor s':>13}{'ratio':>7}   (medians of {call.rounds})")
    for name, taken in medians.items():
        ratio = taken.processor / medians[BARE].processor
        print(f"{name:<22}{taken.clock:>9.3f}{taken.processor:>13.3f}{ratio:>7.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
