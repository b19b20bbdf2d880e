"""Reading an adversary's table that is far larger than memory: python benchmarks/aggregate.py [--rows N,N,...].

Tables of people are written into a temporary folder (TMPDIR says where; CSV takes about 45 bytes a row), with
the same number of distinct quasi-identifiers in random order, and read in a process of their own:

read_qi  what `maxent estimate` does first: every cell checked, equal rows merged, in the order of first appearance
pandas   read_csv or read_parquet and groupby().size(), nothing checked: for comparison, and only up to --pandas rows

Seconds are those of the processor and on the clock, of reading alone, without imports and the release. The peak is of
the whole process. The exponent is the slope of log(processor seconds) over log(rows): 1 when time grows as rows do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

EDUCATIONS, COUNTRIES, RACES = 16, 40, 5
QI = ("Education", "Gender", "Age", "Country", "Race", "Hours")
PIECE = 1_000_000
"""People that are written at once."""


@dataclass(frozen=True)
class Run:
    """One reading of one table."""

    rows: int
    format: str
    megabytes: float
    method: str
    distinct: int
    processor: float
    clock: float
    peak_mb: float

    @property
    def per_million(self) -> float:
        return self.processor / self.rows * 1e6


def people(rows: int, distinct: int, seed: int) -> pd.DataFrame:
    """Some people, drawn from ``distinct`` kinds of them, which are the same for every ``seed``."""
    import numpy as np
    import pandas as pd

    kind = np.random.default_rng(seed).integers(0, distinct, rows)
    drawn = np.random.default_rng(0).integers(0, 2**63, distinct)[kind]
    text = {
        "Education": pd.Categorical.from_codes(drawn % EDUCATIONS, [f"education {i}" for i in range(EDUCATIONS)]),
        "Gender": pd.Categorical.from_codes((drawn >> 8) % 2, ["Male", "Female"]),
        "Age": 17 + (drawn >> 16) % 60,
        "Country": pd.Categorical.from_codes((drawn >> 24) % COUNTRIES, [f"country {i}" for i in range(COUNTRIES)]),
        "Race": pd.Categorical.from_codes((drawn >> 32) % RACES, [f"race {i}" for i in range(RACES)]),
        "Hours": ((drawn >> 40) % 1000) / 10.0,
    }
    return pd.DataFrame(text)


def generate(path: Path, rows: int, distinct: int) -> None:
    """Write a table, piece by piece."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    sizes = [PIECE] * (rows // PIECE) + [rows % PIECE] * (rows % PIECE > 0)
    pieces = (pa.Table.from_pandas(people(size, distinct, seed)) for seed, size in enumerate(sizes, 1))
    first = next(pieces)
    writer = (csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter)(path, first.schema)
    with writer:
        writer.write_table(first)
        for piece in pieces:
            writer.write_table(piece)


def with_read_qi(path: Path) -> Callable[[], int]:
    from maxent.models.release import Attribute, Release, Target
    from maxent.models.tables.qi_table import read_qi

    attributes = (
        Attribute("Education", values=tuple(f"education {i}" for i in range(EDUCATIONS))),
        Attribute("Gender", values=("Female", "Male")),
        Attribute("Age", "numeric"),
        Attribute("Country", values=tuple(f"country {i}" for i in range(COUNTRIES))),
        Attribute("Race", values=tuple(f"race {i}" for i in range(RACES))),
        Attribute("Hours", "numeric"),
    )
    release = Release(Target("Salary", ("<=50K", ">50K")), attributes, ())
    return lambda: len(read_qi(path, release))


def with_pandas(path: Path) -> Callable[[], int]:
    import pandas as pd

    columns = list(QI)
    if path.suffix == ".csv":
        return lambda: len(pd.read_csv(path, usecols=columns).groupby(columns).size())
    return lambda: len(pd.read_parquet(path, columns=columns).groupby(columns).size())


METHODS: dict[str, Callable[[Path], Callable[[], int]]] = {"read_qi": with_read_qi, "pandas": with_pandas}


def child(method: str, path: Path) -> None:
    """Read a table in this process and print what it took."""
    read = METHODS[method](path)
    clock, processor = time.perf_counter(), time.process_time()
    distinct = read()
    print(json.dumps([distinct, time.process_time() - processor, time.perf_counter() - clock]))


def measure(method: str, path: Path, rows: int) -> Run:
    """Read a table in a new process."""
    process = subprocess.Popen([sys.executable, __file__, "--child", method, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{method} of {path.name}: exit status {process.returncode}")
    distinct, processor, clock = json.loads(output)
    megabytes = path.stat().st_size / 1e6
    return Run(rows, path.suffix[1:], megabytes, method, distinct, processor, clock, usage.ru_maxrss / 1024)


def exponent(runs: list[Run]) -> float:
    """How the processor's time grows with the rows."""
    import numpy as np

    slope, _ = np.polyfit(np.log([run.rows for run in runs]), np.log([run.processor for run in runs]), 1)
    return float(slope)


def numbers(text: str) -> list[int]:
    return [int(float(number)) for number in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=numbers, default=[10**6, 10**7, 5 * 10**7], metavar="N,N,...")
    parser.add_argument("--distinct", type=numbers, default=[500_000], metavar="N", help="about: some coincide")
    parser.add_argument("--formats", default="csv,parquet", metavar="F,F")
    parser.add_argument("--pandas", type=numbers, default=[10**7], metavar="N", help="largest table for pandas")
    parser.add_argument("--json", action="store_true", help="one JSON object for each run instead of a table")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    call = parser.parse_args()
    if call.child:
        child(call.child[0], Path(call.child[1]))
        return 0
    if not call.json:
        print(f"{'rows':>9} {'format':<8}{'file MB':>8}  {'method':<8}{'distinct':>9}", end="")
        print(f"{'processor s':>13}{'clock s':>9}{'s/10^6 rows':>13}{'peak MB':>9}{'ratio':>7}", flush=True)
    runs: list[Run] = []
    for suffix in call.formats.split(","):
        for rows in sorted(call.rows):
            with tempfile.TemporaryDirectory(prefix="maxent-aggregate-") as folder:
                path = Path(folder) / f"people.{suffix}"
                generate(path, rows, call.distinct[0])
                ours = measure("read_qi", path, rows)
                theirs = [measure("pandas", path, rows)] if rows <= call.pandas[0] else []
            for run in [ours, *theirs]:
                runs.append(run)
                if call.json:
                    print(json.dumps({**asdict(run), "seconds_per_million": run.per_million}), flush=True)
                    continue
                print(f"{run.rows:>9} {run.format:<8}{run.megabytes:>8.0f}  {run.method:<8}{run.distinct:>9}", end="")
                print(f"{run.processor:>13.2f}{run.clock:>9.2f}{run.per_million:>13.3f}{run.peak_mb:>9.0f}", end="")
                print(f"{run.processor / ours.processor:>7.2f}", flush=True)
    for suffix, method in sorted({(run.format, run.method) for run in runs}):
        some = [run for run in runs if (run.format, run.method) == (suffix, method)]
        if len(some) > 1 and not call.json:
            print(f"{suffix}, {method}: processor seconds grow as rows to the power {exponent(some):.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
