"""Environments of other tools: made with pip, measured on disk, and refused when they would bring CUDA along."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from papers.study_files import ROOT

OWN = ("maxent", "models", "constraints", "solvers", "pyproject.toml", "README.md", "LICENSE")
"""What a wheel of this project is built from; a copy, so that nothing is left in the checkout."""

REASON = 200
"""Characters of a reason that are shown."""


@dataclass(frozen=True)
class Peer:
    """A tool: its distribution, what pip is asked for, one call after the other, and what is imported and run."""

    name: str
    distribution: str
    steps: Sequence[Sequence[str]]
    imports: str
    script: str


PEERS = (
    Peer("maxent", "maxent", (("{source}",),), "import maxent; maxent.audit, maxent.estimate", "maxent_.py"),
    Peer(
        "SACRO-ML",
        "sacroml",
        (
            # torch with its CPU build, and xgboost without its dependency on NVIDIA's libraries.
            (
                "torch==2.13.0",
                "acro<2",
                "fpdf",
                "pypdf",
                "multiprocess",
                "scikit-learn",
                "dictdiffer",
                "prompt-toolkit",
            ),
            ("--no-deps", "sacroml==2.0.1", "xgboost==3.2.0"),
        ),
        "from sacroml.attacks.structural_attack import StructuralAttack; from sacroml.attacks.target import Target",
        "sacroml.py",
    ),
    Peer(
        "ART",
        "adversarial-robustness-toolbox",
        (("adversarial-robustness-toolbox==1.20.1", "packaging"),),  # which it imports and does not ask for
        "from art.attacks.inference.attribute_inference import AttributeInferenceWhiteBoxDecisionTree",
        "art.py",
    ),
)


@dataclass(frozen=True)
class Installed:
    """What is on disk: the version, distributions and bytes of site-packages, and its largest parts."""

    version: str
    packages: int
    bytes: int
    largest: Mapping[str, int]
    seconds: float


class NotInstalled(Exception):
    """Why a tool cannot be installed here."""


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def install(peer: Peer, folder: Path) -> Installed:
    """Make the environment of a tool, or find it made.

    Raises
    ------
    NotInstalled
        With the reason that pip gives, or when it would fetch CUDA libraries.
    """
    done = folder / "installed.json"
    if done.exists():
        return Installed(**json.loads(done.read_text(encoding="utf-8")))
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    empty = bytes_of(site_packages(folder))
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        if any("{source}" in step for step in peer.steps):
            copy_of_this_project(source)
        for step in peer.steps:
            wanted = [part.format(source=source) for part in step]
            report = Path(scratch) / "report.json"
            _pip(folder, ["install", "--dry-run", "--report", str(report), *wanted])
            refuse_cuda(json.loads(report.read_text(encoding="utf-8")))
            _pip(folder, ["install", *wanted])
    listed = json.loads(_pip(folder, ["list", "--format", "json"]))
    found = Installed(
        version=next(p["version"] for p in listed if p["name"] == peer.distribution),
        packages=len(listed) - 2,  # pip and setuptools were there
        bytes=sum(bytes_of(site_packages(folder)).values()) - sum(empty.values()),
        largest=largest(bytes_of(site_packages(folder)), empty),
        seconds=time.perf_counter() - begin,
    )
    done.write_text(json.dumps(asdict(found)), encoding="utf-8")
    return found


def refuse_cuda(report: Mapping[str, object]) -> None:
    """Look at what pip would install, by its report.

    Raises
    ------
    NotInstalled
        When libraries of NVIDIA are among it.
    """
    items = report["install"]
    assert isinstance(items, list)
    names = [item["metadata"]["name"].lower() for item in items]
    cuda = sorted(name for name in names if name.startswith(("nvidia-", "cuda-")))
    if cuda:
        raise NotInstalled(f"pip would fetch CUDA libraries: {', '.join(cuda)}"[:REASON])


def bytes_of(folder: Path) -> dict[str, int]:
    """Bytes of the files in each entry of a folder."""
    return {
        entry.name: sum(f.stat().st_size for f in ([entry] if entry.is_file() else entry.rglob("*")) if f.is_file())
        for entry in folder.iterdir()
    }


def largest(sizes: Mapping[str, int], without: Iterable[str] = (), n: int = 3) -> dict[str, int]:
    """The entries with the most bytes, largest first, but for some."""
    new = sorted((name for name in sizes if name not in set(without)), key=lambda name: (-sizes[name], name))
    return {name: sizes[name] for name in new[:n]}


def site_packages(folder: Path) -> Path:
    return next((folder / "lib").glob("python3*")) / "site-packages"


def copy_of_this_project(target: Path) -> None:
    """Copy what a wheel is built from."""
    target.mkdir()
    for name in OWN:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, target / name)


def _pip(folder: Path, arguments: Sequence[str]) -> str:
    """What pip prints; its last error as a reason when it fails."""
    command = [str(python_of(folder)), "-m", "pip", *arguments, "--disable-pip-version-check"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")] or [ended.stderr.strip()]
        raise NotInstalled(errors[-1][:REASON])
    return ended.stdout
