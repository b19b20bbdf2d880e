"""A process with a limit of memory in which SciPy cannot be loaded ends, and says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "d1"

LIMITED = """
import resource, sys
limit = int(sys.argv.pop(1)) * 10**6
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from maxent.__main__ import command
command()
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no limit of memory")
@pytest.mark.parametrize(("threads", "needed"), [("1", 550), ("2", 600), ("64", 3700)])
def test_no_room_for_scipy_is_said(threads: str, needed: int) -> None:
    call = ["estimate", str(EXAMPLE / "tree.json"), str(EXAMPLE / "qi.csv")]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "420", *call],
        env={**os.environ, "OPENBLAS_NUM_THREADS": threads}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"memory: expected {needed} MB more for SciPy with {threads} threads" in done.stderr
    assert len(done.stderr.splitlines()) == 1
