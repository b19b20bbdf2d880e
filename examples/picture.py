"""Draw the picture of a report in README.md: python examples/picture.py [FILE]. Needs Chromium and playwright.

The report is that of `make demo`: 442 diabetes patients, a tree before and after pruning.
"""

import argparse
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from maxent.__main__ import main as maxent

sys.path.append(str(Path(__file__).parent))

import diabetes

WIDTH, HEIGHT = 1000, 905
COLORS = 48
"""The report has few: so many keep its text readable in a small file."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=Path("docs/figures/report.png"), metavar="FILE")
    call = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = photograph(report(Path(folder)))
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(
        call.file, optimize=True
    )


def report(folder: Path) -> Path:
    """Write the report of the plain and the pruned tree; its path."""
    diabetes.publish(folder)
    qi, truth, before, after, path = (
        str(folder / name) for name in ("qi.csv", "truth.csv", "before.json", "after-k10.json", "report.html")
    )
    patients = [truth, "--target", "progression", "--qi", "age,sex,bmi,bp", "--max-depth", "5"]
    limits = ["--max-certain", "0", "--min-k", "10"]
    for call in (
        ["defend", "none", *patients, "-o", before],
        ["defend", "prune-parent", *patients, "--k", "10", "-o", after],
        ["compare", before, after, qi, "--truth", truth, *limits, "--report", path],
    ):
        if maxent(call):
            raise SystemExit(f"maxent {' '.join(call)} failed")
    return Path(path)


def photograph(path: Path) -> bytes:
    """The top of a page as a PNG file."""
    chromium = os.environ.get("MAXENT_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(path.as_uri())
        taken = page.screenshot()
        browser.close()
    return taken


if __name__ == "__main__":
    main()
