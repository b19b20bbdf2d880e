"""Time and memory of one estimate in a process of its own: cost.py FOLDER KNOWLEDGE."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import maxent
from maxent.api.bench_process import peak_memory


@dataclass(frozen=True)
class Cost:
    """Processor seconds of an estimate, reading included, and the peak memory of its process."""

    seconds: float
    megabytes: float


def cost(folder: str, knowledge: str) -> Cost:
    """What it takes to estimate what a folder's tree.json tells who holds its qi.csv."""
    alone = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, __file__, folder, knowledge]
    done = subprocess.run(command, env=os.environ | alone, capture_output=True, text=True, check=True)
    return Cost(**json.loads(done.stdout))


def main() -> int:
    folder, knowledge = Path(sys.argv[1]), sys.argv[2]
    begin = time.process_time()
    maxent.estimate(folder / "tree.json", folder / "qi.csv", knowledge=knowledge)
    print(json.dumps({"seconds": time.process_time() - begin, "megabytes": peak_memory()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
