"""Try an installed maxent where no checkout hides it: `smoke.py PYTHON`, the interpreter of its environment."""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

D1 = Path(__file__).resolve().parents[1] / "examples" / "d1"


def main(python: Path) -> None:
    """Estimate an example by the command, and hold the answer against what was worked out by hand."""
    command = python.with_name("maxent")
    tables = [D1 / "tree.json", D1 / "qi.csv", "--truth", D1 / "truth.csv"]
    with tempfile.TemporaryDirectory() as folder:

        def run(*words: str | Path) -> str:
            done = subprocess.run([command, *words], cwd=folder, check=True, stdout=subprocess.PIPE, encoding="utf-8")
            return done.stdout

        run("--help")
        run("estimate", *tables, "--report", "d1.html")
        if "Content-Security-Policy" not in (Path(folder) / "d1.html").read_text(encoding="utf-8"):
            sys.exit("the report has no Content-Security-Policy")
        summary = json.loads(run("estimate", *tables, "--knowledge", "label,rate", "--json"))
    found, expected = summary["divergence"]["overall"], 2 / 11 * math.log(2)  # Zhu and Du's first example, by hand
    if summary["status"] != "optimal" or abs(found - expected) > 1e-6:
        sys.exit(f"maxent says {summary['status']}, divergence {found}; expected optimal, {expected}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
