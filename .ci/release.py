"""Build what is published, and try it in clean environments: `make release`.

Writes into dist/: the wheel, the source distribution, their SHA-256 checksums and an SBOM (CycloneDX) of what the wheel
brings with it on the oldest Python. Each Python from 3.11 on that is found gets an environment with the wheel, the
oldest one with the source distribution, too. Those that were not found are named.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
OLDEST, NEWEST = 11, 14  # minor versions of Python 3 that are asked for


def pythons() -> dict[int, str]:
    """Minor versions of Python 3 that are found, also where pyenv keeps them off the path -> their interpreters."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[int, str] = {}
    says = "import ensurepip, sys, venv; print(sys.version_info[1])"
    for minor in range(OLDEST, NEWEST + 1):
        for name in (*kept.glob(f"3.{minor}.*/bin/python3"), f"/usr/bin/python3.{minor}", f"python3.{minor}"):
            path = shutil.which(name)
            done = path and subprocess.run([path, "-c", says], capture_output=True, check=False, encoding="utf-8")
            if done and done.stdout.strip() == str(minor):
                found[minor] = str(path)
                break
    return found


def environment(python: str, folder: Path, package: Path) -> Path:
    """A clean environment with a package in it; the interpreter of it."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    inside = folder / "bin" / "python"
    subprocess.run([inside, "-m", "pip", "install", "--quiet", package], check=True)
    return inside


def main() -> None:
    """Build, try, list."""
    for made in ("build", "dist"):
        shutil.rmtree(ROOT / made, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    packages = sorted(DIST.iterdir())
    source, wheel = (next(path for path in packages if path.name.endswith(end)) for end in (".tar.gz", ".whl"))
    found = pythons()
    if not found:
        sys.exit("found no Python from 3.11 on")
    tried = [(minor, wheel) for minor in found] + [(min(found), source)]
    for minor, package in tried:
        with tempfile.TemporaryDirectory() as folder:
            inside = environment(found[minor], Path(folder) / "tried", package)
            if (minor, package) == tried[0]:  # before extras, which are no part of the bill
                bill = wheel.with_suffix(".cdx.json")
                writer = environment(found[minor], Path(folder) / "writer", Path("cyclonedx-bom"))
                call = ["environment", "--output-reproducible", "--output-file", bill, inside]
                subprocess.run([writer.with_name("cyclonedx-py"), *call], check=True)
            subprocess.run([inside, "-m", "pip", "install", "--quiet", f"{package}[serve]"], check=True)
            subprocess.run([inside, ROOT / ".ci" / "smoke.py", inside], check=True)
            print(f"Python 3.{minor}: {package.name} works", flush=True)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    print(*sums, sep="\n")
    missing = [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1) if minor not in found]
    print(f"Not tried, as not found: Python {', '.join(missing)}" if missing else "Every Python was found.")


if __name__ == "__main__":
    main()
