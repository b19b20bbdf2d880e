"""Take the pictures of the page in docs/howto/serve.md: python examples/serve_pictures.py [OUT_DIR].

Needs Chromium and playwright. The patients are those of the tutorial.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

sys.path.append(str(Path(__file__).parent))

import diabetes

WIDTH, HEIGHT = 900, 1000
COLORS = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path("docs/figures"), metavar="OUT_DIR")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        diabetes.publish(Path(folder))
        command = [sys.executable, "-m", "maxent", "serve", "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                photograph(process.stdout.readline().strip(), Path(folder), out)
            finally:
                process.terminate()


def photograph(address: str, folder: Path, out: Path) -> None:
    """Go through the three steps with the patients of the tutorial."""
    chromium = os.environ.get("MAXENT_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(address)
        page.set_input_files("#model", folder / "tree.json")
        page.set_input_files("#table", folder / "truth.csv")
        take(page, out / "serve-1.png", 560)
        page.click("text=Look at the files")
        page.wait_for_selector("#table-title", timeout=240_000)
        take(page, out / "serve-2.png", HEIGHT)
        page.click("button:text-is('Judge')")
        page.wait_for_selector("#at:not(:text('starting'))")
        take(page, out / "serve-3.png", 400)
        page.wait_for_selector("#verdict-title", timeout=240_000)
        take(page, out / "serve-4.png", HEIGHT)
        browser.close()


def take(page: Page, path: Path, height: int) -> None:
    """Write the top of a page in few colours."""
    taken = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
