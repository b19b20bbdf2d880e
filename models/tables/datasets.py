"""Data sets by name: their list, their local copies, and their download."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

from maxent.models.errors import invalid
from maxent.models.files.input_files import has_password, redacted, without_secrets
from maxent.models.files.output import write_text
from maxent.models.hints import close_to

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a data set as its source has it; ``fold`` is what that column says of its rows."""

    url: str
    size: int
    sha256: str
    fold: str | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A public data set, in the columns of its source; no parts where no source has it for everybody."""

    name: str
    words: str
    target: str
    rows: int
    columns: tuple[str, ...]
    parts: tuple[FilePart, ...]
    source: str

    @property
    def file(self) -> str:
        """The name of its table: CSV with a header."""
        return f"{self.name}.csv"

    def table(self, contents: Sequence[bytes]) -> str:
        """Its table, made of the contents of its parts."""
        folds = any(part.fold is not None for part in self.parts)
        lines = [",".join([*self.columns, *["fold"] * folds])]
        for part, content in zip(self.parts, contents, strict=True):
            more = [] if part.fold is None else [part.fold]
            lines += [",".join([*cells, *more]) for cells in _cells(content.decode("ascii"))]
        return "\n".join(lines) + "\n"


def _cells(text: str) -> Iterator[list[str]]:
    """The cells of each row; UCI's test set of Adult begins with a remark, and ends its rows with a full stop."""
    for line in text.splitlines():
        if line and not line.startswith("|"):
            yield [cell.strip() for cell in line.removesuffix(".").split(",")]


_ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,class"
)
_NURSERY = "parents,has_nurs,form,children,housing,finance,social,health,assessment"
_MUSHROOM = (
    "class,cap-shape,cap-surface,cap-color,bruises,odor,gill-attachment,gill-spacing,gill-size,gill-color,stalk-shape,"
    "stalk-root,stalk-surface-above-ring,stalk-surface-below-ring,stalk-color-above-ring,stalk-color-below-ring,"
    "veil-type,veil-color,ring-number,ring-type,spore-print-color,population,habitat"
)
_CONTRACEPTIVE = (
    "wife_age,wife_education_level,husband_education_level,num_children,isMuslim,isNotWorking,husband_occupation,"
    "standard_of_living,isNotExposedToMedia,contraceptive_method_used"
)

# Name -> data set
DATA_SETS = {
    each.name: each
    for each in (
        DataSet(
            "adult",
            "incomes above and below 50K, from a census; fold divides training and test rows",
            "class",
            48842,
            tuple(_ADULT.split(",")),
            (
                FilePart(
                    _UCI + "adult/adult.data",
                    3974305,
                    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                    "train",
                ),
                FilePart(
                    _UCI + "adult/adult.test",
                    2003153,
                    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                    "test",
                ),
            ),
            "Becker and Kohavi 1996, UCI Machine Learning Repository, doi:10.24432/C5XW20 (CC BY 4.0)",
        ),
        DataSet(
            "nursery",
            "applications for nursery schools, and how they were ranked",
            "assessment",
            12960,
            tuple(_NURSERY.split(",")),
            (
                FilePart(
                    _UCI + "nursery/nursery.data",
                    1059371,
                    "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
                ),
            ),
            "Rajkovic 1989, UCI Machine Learning Repository, doi:10.24432/C5P88W (CC BY 4.0)",
        ),
        DataSet(
            "mushroom",
            "mushrooms, edible (e) and poisonous (p)",
            "class",
            8124,
            tuple(_MUSHROOM.split(",")),
            (
                FilePart(
                    _UCI + "mushroom/agaricus-lepiota.data",
                    373704,
                    "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
                ),
            ),
            "UCI Machine Learning Repository 1981, doi:10.24432/C5959T (CC BY 4.0)",
        ),
        DataSet(
            "contraceptive",
            "contraceptive methods of married women in Indonesia, 1987",
            "contraceptive_method_used",
            1473,
            tuple(_CONTRACEPTIVE.split(",")),
            (
                FilePart(
                    _UCI + "cmc/cmc.data",
                    30962,
                    "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9",
                ),
            ),
            "Lim 1997, UCI Machine Learning Repository, doi:10.24432/C59W2D (CC BY 4.0)",
        ),
    )
}


def data_set(name: str) -> DataSet:
    """The data set of a name."""
    if name not in DATA_SETS:
        found = repr(name) + close_to(str(name), DATA_SETS)
        raise invalid("fetch", "argument", "name", f"one of {', '.join(DATA_SETS)}", found)
    return DATA_SETS[name]


# Copies of data sets: the folders where they are looked for, and how one is fetched.
#
# The folder in ``MAXENT_DATA`` is looked in first, then the cache: the folder in ``MAXENT_CACHE``, else the user's.
# What is fetched is compared with a checksum. ``MAXENT_MIRROR`` is an address that has the same files, for places
# without a way out.

DATA, CACHE, MIRROR = "MAXENT_DATA", "MAXENT_CACHE", "MAXENT_MIRROR"

SECONDS = 30.0  # without a byte for so long, a download has failed
_CHUNK = 1 << 16

Told = Callable[[str, int, int], None]  # what is being done, and how many bytes of how many are there


def cache_folder() -> Path:
    """The folder of fetched data sets, which need not be there."""
    if stated := os.environ.get(CACHE):
        return Path(stated)
    if sys.platform == "win32":
        above = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
    elif sys.platform == "darwin":
        above = Path.home() / "Library/Caches"
    else:
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above) / "maxent"


def local_copy(name: str) -> Path | None:
    """The table of a data set, where one of the folders has it."""
    file = data_set(name).file
    folders = [*([Path(stated)] if (stated := os.environ.get(DATA)) else []), cache_folder()]
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def fetched(name: str, told: Told | None = None) -> Path:
    """The table of a data set; it is fetched where no folder has it."""
    wanted = data_set(name)
    if (found := local_copy(name)) is not None:
        return found
    path = cache_folder() / wanted.file
    contents = [_downloaded(wanted, part, told or _silent) for part in wanted.parts]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise invalid(str(path.parent), "folder", CACHE, "a folder that can be made", str(error)) from None
    write_text(path, wanted.table(contents), public=True)
    return path


def _downloaded(wanted: DataSet, part: FilePart, told: Told) -> bytes:
    mirror = os.environ.get(MIRROR)
    url = f"{mirror.rstrip('/')}/{part.name}" if mirror else part.url
    content, shown = bytearray(), without_secrets(url)
    try:
        if not url.startswith(("https://", "http://")):
            raise ValueError("no web address")
        if has_password(url):
            raise ValueError(f"a name or a password in {MIRROR}")
        with urlopen(Request(url, headers={"User-Agent": "maxent"}), timeout=SECONDS) as answer:
            while len(content) <= part.size and (more := answer.read(_CHUNK)):
                content += more
                told(f"fetching {part.name}", len(content), part.size)
    except (OSError, ValueError, HTTPException) as error:
        said = redacted(str(error).replace(url, shown)) or type(error).__name__
        expected = f"a connection; or {wanted.file} in a folder that {DATA} names, or a copy of the files at {MIRROR}"
        raise invalid(shown, "download", wanted.name, expected, said) from None
    if (digest := sha256(content).hexdigest()) != part.sha256:
        size = f"{len(content)} bytes" if len(content) <= part.size else f"more than {part.size} bytes"
        expected = f"the file with the SHA-256 checksum {part.sha256}"
        raise invalid(shown, "download", wanted.name, expected, f"{digest}, {size}")
    return bytes(content)


def _silent(text: str, done: int, total: int) -> None:
    del text, done, total
