"""Excel workbooks with cells of all types, several sheets, and damage to what is zipped in them."""

import datetime
import io
import re
import zipfile
from typing import Any

from fuzz.case import Dice
from fuzz.mutations.columns import Table
from fuzz.mutations.raw import damaged

WRITTEN = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z")  # Moments at which a workbook was made, which are another each time


def as_workbook(table: Table, dice: Dice) -> bytes:
    """A table as a sheet of a workbook, which is the same bytes each time."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = dice.choice(["Sheet", "People", "a b", "ß", "{}", "1"])
    typed = dice.chance(0.7)
    for row in table:
        sheet.append([_cell(text, dice) if typed else _plain(text) for text in row])
    if typed and dice.chance(0.3):
        _formatted(sheet, dice)
    if dice.chance(0.3):
        book.create_sheet(dice.choice(["second", "x"]), dice.choice([0, 1])).append(dice.choice([[], ["a", 1]]))
    if dice.chance(0.1):
        book.create_chartsheet("drawn", 0)
    out = io.BytesIO()
    book.save(out)
    return _zipped_again(out.getvalue(), dice)


def _plain(text: str) -> str:
    """A text without what openpyxl does not write."""
    return "".join(c if c in "\t\n\r" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "?" for c in text)[
        :32_000
    ]


def _cell(text: str, dice: Dice) -> Any:
    """A cell as its text says, and now and then of another type."""
    if dice.chance(0.9):
        return int(text) if text.isdecimal() and len(text) < 12 and dice.chance(0.8) else _plain(text)
    day = datetime.datetime(2020, 1, 31, 12)
    odd = [None, True, 0.12, 1e300, -0.0, day, day.date(), day.time(), datetime.timedelta(hours=30)]
    return dice.choice([*odd, "=1+1", "=A1", "#DIV/0!", "#N/A", "'01", "  x ", "\ufeffx"])


def _formatted(sheet: Any, dice: Dice) -> None:
    """Formats of numbers, cells that are merged, and rows and columns that are hidden."""
    kind = dice.randrange(4)
    if kind == 0:
        for cell in sheet[dice.choice("ABC")]:
            cell.number_format = dice.choice(["0%", "0.00E+00", "@", "yyyy-mm-dd", "#,##0", "[h]:mm"])
    elif kind == 1:
        sheet.merge_cells(dice.choice(["A1:B1", "A2:A3", "A2:C2"]))
    elif kind == 2:
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["A"].hidden = True
    else:
        sheet.insert_rows(1, dice.choice([1, 3]))


def _zipped_again(content: bytes, dice: Dice) -> bytes:
    """A workbook with the times of another moment, and one of its parts changed, left out, or twice, now and then."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: WRITTEN.sub(b"2020-01-31T12:00:00Z", archive.read(name)) for name in archive.namelist()}
    if dice.chance(0.3):
        name = dice.choice(sorted(parts))
        parts[name] = damaged(parts[name], dice, dice.choice([1, 1, 3]))
    if dice.chance(0.05):
        del parts[dice.choice(sorted(parts))]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", dice.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    return out.getvalue()
