"""Search for cases that break a law, with seeds that no test has: ``python tests/hunt.py --time 3600 --seed 7``.

A round runs, in an order of its own, every fuzzer of tests/fuzz and every test file that has properties (Hypothesis) or
searches (the mark ``search``), each in a process of its own and with cases that belong to the round. The first round
has the number --seed, the next one more, until the time is over. What is found is printed with the command that
shows it again. Exit status 1: something was found; 0: nothing; 130: interrupted.
"""

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

from fuzz.fuzzers import FUZZERS  # noqa: E402
from support.search import HUNT, ROUND, ROUNDS  # noqa: E402

MARKS = ("@thorough(", "@given(", "@pytest.mark.search")  # What a file has that is worth a hunt

BATCH = {"decisions": 20}  # Cases of a fuzzer in a round; others have `USUAL`

USUAL = 500


@dataclass(frozen=True, slots=True)
class Prey:
    """A process of a round: its command, and what its environment has more."""

    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    def again(self) -> str:
        """The line that runs it again."""
        return " ".join([*(f"{key}={value}" for key, value in self.environment), "python", shlex.join(self.command)])


def files() -> list[str]:
    """Test files with properties or searches, below ``tests``."""
    found = (path for path in TESTS.rglob("test_*.py") if any(m in path.read_text(encoding="utf-8") for m in MARKS))
    return sorted(path.relative_to(TESTS).as_posix() for path in found)


def prey_of(number: int, names: Sequence[str] = ()) -> list[Prey]:
    """What a round runs, in its order; those of some ``names`` only, if any are given."""
    first = ROUND * (number + 1)
    found = [Prey(name, (str(TESTS / "fuzz"), name, f"{first}:{first + BATCH.get(name, USUAL)}")) for name in FUZZERS]
    options = ("-q", "-x", "-m", "hypothesis or search", "-p", "no:cacheprovider", "--hypothesis-profile=explore")
    found += [
        Prey(
            name,
            ("-m", "pytest", *options, f"--hypothesis-seed={number}", str(TESTS / name)),
            ((HUNT, str(number)), ("MAXENT_EXAMPLES", "1")),
        )
        for name in files()
    ]
    found = [each for each in found if not names or each.name in names]
    random.Random(number).shuffle(found)
    return found


@dataclass(slots=True)
class Hunt:
    """Rounds from a number on, until the time is over."""

    seed: int
    seconds: float
    workers: int
    names: Sequence[str] = ()
    tried: int = 0
    found: list[str] = field(default_factory=list)
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: bool = False

    def run(self) -> int:
        """Hunt, print what is found, and return the exit status."""
        end, queue = time.monotonic() + self.seconds, self._all()
        threads = [threading.Thread(target=self._work, args=(queue,)) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        interrupted = False
        try:
            while time.monotonic() < end and any(thread.is_alive() for thread in threads):
                time.sleep(0.1)
        except KeyboardInterrupt:
            interrupted = True
        with self._lock:
            self._over = True
            for process in self._running:
                os.killpg(process.pid, signal.SIGKILL)
        for thread in threads:
            thread.join()
        print(f"seed {self.seed}: {self.tried} searches ended, {len(self.found)} found something")
        for name in self.found:
            print(f"  {name}")
        return 1 if self.found else 130 if interrupted else 0

    def _all(self) -> Iterator[tuple[int, Prey]]:
        for number in range(self.seed, ROUNDS):
            for prey in prey_of(number, self.names):
                yield number, prey

    def _work(self, queue: Iterator[tuple[int, Prey]]) -> None:
        while True:
            with self._lock:
                number, prey = next(queue, (0, None))
                if self._over or prey is None:
                    return
                process = subprocess.Popen(
                    (sys.executable, *prey.command), cwd=TESTS.parent, env={**os.environ, **dict(prey.environment)},
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    errors="replace", start_new_session=True,
                )  # fmt: skip
                self._running.add(process)
            out, err = process.communicate()
            with self._lock:
                self._running.discard(process)
                if self._over:
                    return
                self.tried += 1
                if process.returncode not in (0, 5):  # 5: none of the tests of a file is chosen
                    self.found.append(f"seed {number}: {prey.again()}")
                    print(f"== found with seed {number}: {prey.again()}\n{out[-8_000:]}{err[-2_000:]}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--time", type=float, default=600, help="seconds (default: 600)")
    parser.add_argument("--seed", type=int, help="number of the first round (default: chosen from the clock, printed)")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("names", nargs="*", help="fuzzers, or files below tests/ (default: all)")
    call = parser.parse_args(arguments)
    seed = time.time_ns() % ROUNDS if call.seed is None else call.seed
    if not 0 <= seed < ROUNDS:
        parser.error(f"--seed: expected a number from 0 to {ROUNDS - 1}, found {seed}")
    if unknown := sorted({*call.names} - {*FUZZERS, *files()}):
        parser.error(f"no fuzzer and no test file with searches: {', '.join(unknown)}")
    print(f"hunting for {call.time:g} s from seed {seed} on, with {call.workers} processes", flush=True)
    return Hunt(seed, call.time, call.workers, call.names).run()


if __name__ == "__main__":
    sys.exit(main())
