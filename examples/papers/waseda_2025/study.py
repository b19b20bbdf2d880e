"""The tables of Waseda et al. (2025) beside ours, and what random trees cost and disclose.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples .venv/bin/python -m papers.waseda_2025.study [FOLDER]

puts its tables into FOLDER/README.md (default: that of this module) and draws FOLDER/figures/rdt_*.svg. Words and
numbers outside of the tables are left alone. The same data give the same bytes. It reads nursery.csv, adult.csv,
mushroom.csv and lending_club.csv from the folder MAXENT_DATA, and what other libraries say from rdt_recorded.json, see
`rdt_elsewhere`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from papers.study_files import protocol
from papers.tables import fill
from papers.waseda_2025 import audit as rdt_audit
from papers.waseda_2025 import privacy as rdt_privacy
from papers.waseda_2025.figures import save_figures
from papers.waseda_2025.noise import DEPTHS, compared
from papers.waseda_2025.page import Results, tables
from papers.waseda_2025.protocol import FILES, Split, load, table_6, table_7
from papers.waseda_2025.published import TABLE_6, TABLE_7

BETA_6 = 0.4
"""The sampling rate of Table 6: the text says delta = 0.4."""

DEPTHS_7 = {"nursery": (1, 2, 3, 4), "mushroom": (2, 3, 4, 5)}
"""Depths that Table 7 may be of."""

PROTOCOL = protocol("waseda-2025")
SEEDS: int = PROTOCOL["seeds"]
AUDIT_SEEDS: int = PROTOCOL["audit_seeds"]


def measure(seeds: int, audit_seeds: int) -> Results:
    """Everything; see `rdt_page.Results`."""
    six, seven, constant, noise, audit = {}, {}, {}, {}, {}
    for name, cells in TABLE_6.items():
        print(f"Table 6, {name} ...", file=sys.stderr, flush=True)
        people = load(name)
        six[name] = table_6(people, cells, BETA_6, seeds)
        constant[name] = [Split.of(people, seed).constant for seed in range(seeds)]
    for name, cells in TABLE_7.items():
        print(f"Table 7, {name} ...", file=sys.stderr, flush=True)
        people = load("nursery, three classes" if name == "nursery" else name)
        seven[name] = {depth: table_7(people, cells, depth, seeds) for depth in DEPTHS_7[name]}
    for name in DEPTHS:
        print(f"noise, {name} ...", file=sys.stderr, flush=True)
        noise[name] = compared(name, seeds)
    for name in rdt_audit.DEPTHS:
        print(f"disclosure, {name} ...", file=sys.stderr, flush=True)
        audit[name] = rdt_audit.grid(name, audit_seeds)
    return Results(six, seven, constant, noise, audit)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).folder
    page, data = folder / "README.md", os.environ.get("MAXENT_DATA", "")
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    lacking = [file for file, _ in FILES.values() if not (Path(data) / file).is_file()]
    if not data or lacking:
        print(f"set the environment variable MAXENT_DATA to the folder with {', '.join(lacking)}", file=sys.stderr)
        return 2
    results = measure(SEEDS, AUDIT_SEEDS)
    page.write_text(fill(text, {**rdt_privacy.tables(), **tables(results)}), encoding="utf-8")
    save_figures(results.audit, folder / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
