"""Ways of making something wrong: odd values, bytes, documents, columns of all types, XML, and workbooks."""

import copy
import datetime
import gzip
import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fuzz.case import Dice

# Literals of JSON, or what decoders take for some.
NUMBERS = (
    *("0", "1", "-1", "2", "3", "0.5", "1.0", "1.5", "-0.0", "-0", "1E2", "0.30000000000000004", "0.999", "1e-400"),
    *("1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1e308", "-1e308", "5e-324", "1e-9", "2147483648"),
    *("9007199254740992", "9007199254740993", "18446744073709551616", "-9223372036854775809", "1" + "0" * 30),
    *("9" * 400, "9" * 5000, "0." + "3" * 500),
)

# Texts that mean something somewhere, steer a terminal, run in a spreadsheet, or are none.
TEXTS = (
    *("", " ", "  a", "a ", "a", "A", "b", "1", "01", "+1", "-5", "1,5", "1_000", "0x10", "1e5", "inf", "-inf", "50%"),
    *("NA", "nan", "NaN", "null", "None", "#N/A", "NaT", "?", "true", "TRUE", "no", "2024-01-31", "12:30"),
    *("\x00", "a\x00b", "\x1b[31mred", "\x1b]0;owned\x07", "\x9b2J", "\u202eabc", "\u200b", "\ufeff", "\u2028", "\x7f"),
    *("\ud800", "a\udfffb", "\U0010ffff", "\ufffe", "é", "e\u0301", "\xa0", "\u3000x"),
    *("\ufb01", "\u0130", "ß", "\uff11\uff12", "\u0663", "½", "\u22121"),
    *("=1+1", "@x", "+cmd|' /C calc'!A0", "-x", "'x", "a,b", 'a"b', '"', "a;b", "a\tb", "a|b", "a\\|b", "a\nb", "a\rb"),
    *("\\", "%s", "%(x)s", "{0}", "{k}", "[/b]", "[red]", "<script>alert(1)</script>", "&amp;", "$x$", "_", "^"),
    *("../x", "/etc/hostname", "con", "--json", "-", "--", "*", "?[x", "[a-", "**", "~", "x" * 300, "é" * 5000),
    *("count", "leaf", "P(a)", "P(<=50K)", "divergence", "predicted", "class", "N1", "L1", "Education", "Salary"),
    *("10-20", "20-10", "1-1", "*", "(1, 2]", "default", "auto", "label", "rate", "newton", "entropy", "maxent/1"),
)


# What is put in between.
BYTES = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x80", b"\xed\xa0\x80", b"PAR1", b"\x1f\x8b"),
    *(b"\r", b"\n", b"\t", b'"', b"'", b",", b";", b"{", b"]", b"\\", b"=", b"#", b"-"),
    *(b"\x1b[2J", "\u202e".encode(), "\x85".encode()),
)

MARK = "Vq93kXzPw-secret"  # In every line of what is no file of ours

# Files of others, whose content must not be shown.
FOREIGN = (
    f"root:{MARK}:19000:0:99999:7:::\ndaemon:{MARK}:1:2\n",
    f'{{"password": "{MARK}", "keys": [{{"{MARK}": 1}}]}}',
    f'["{MARK}"]',
    f'password = "{MARK}"\n[{MARK}]\nkey = "{MARK}"\n',
    f"{MARK}",
    f"<html>{MARK}</html>",
    f"\x00\x01{MARK}\x7f\xff",
    f"{MARK}: {MARK}\n- {MARK}\n" * 40,
)


def damaged(content: bytes, dice: Dice, times: int = 1) -> bytes:
    """Content with some bytes changed, as often as asked."""
    for _ in range(times):
        content = dice.choice(DAMAGES)(content, dice)
    return content


def _flip(content: bytes, dice: Dice) -> bytes:
    if not content:
        return b"\x00"
    i = dice.randrange(len(content))
    return content[:i] + bytes([content[i] ^ 1 << dice.randrange(8)]) + content[i + 1 :]


def _set(content: bytes, dice: Dice) -> bytes:
    i = dice.randrange(len(content) + 1)
    return content[:i] + bytes([dice.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])]) + content[i + 1 :]


def _insert(content: bytes, dice: Dice) -> bytes:
    i = dice.randrange(len(content) + 1)
    return content[:i] + dice.choice(BYTES) * dice.choice([1, 1, 1, 2, 50]) + content[i:]


def _cut(content: bytes, dice: Dice) -> bytes:
    return content[: dice.randrange(len(content) + 1)]


def _remove(content: bytes, dice: Dice) -> bytes:
    i = dice.randrange(len(content) + 1)
    return content[:i] + content[i + dice.choice([1, 1, 2, 8, 64]) :]


def _splice(content: bytes, dice: Dice) -> bytes:
    """A piece of it once more, somewhere else."""
    i, j = sorted(dice.randrange(len(content) + 1) for _ in range(2))
    at = dice.randrange(len(content) + 1)
    return content[:at] + content[i : min(j, i + 200)] + content[at:]


def _line(content: bytes, dice: Dice) -> bytes:
    """A line less, twice, or in another place."""
    lines = content.split(b"\n")
    line = lines.pop(dice.randrange(len(lines)))
    for _ in range(dice.randrange(3)):
        lines.insert(dice.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _encoded(content: bytes, dice: Dice) -> bytes:
    """Text in another encoding, or packed."""
    text = content.decode("utf-8", "replace")
    other = dice.choice(["utf-16", "utf-16-le", "utf-32", "cp1252", "utf-8-sig", "gzip"])
    return gzip.compress(content, mtime=0) if other == "gzip" else text.encode(other, "replace")


DAMAGES = (_flip, _flip, _set, _insert, _insert, _cut, _remove, _splice, _line, _line, _encoded)


class Raw(str):
    """A literal that is written as it is."""


class Pairs(dict):
    """An object with more pairs than keys: ``more`` are written behind its own."""

    more: tuple[tuple[str, Any], ...] = ()


DEEP = (5, 9, 40, 2_000, 100_000)  # Levels of what is nested


def as_json(value: Any) -> bytes:
    """The text of a document; lone surrogates are escaped, or bytes that are no UTF-8."""
    return "".join(_written(value)).encode("utf-8", "surrogatepass")


def _written(value: Any) -> Any:
    if isinstance(value, Raw):
        yield str(value)
    elif isinstance(value, dict):
        pairs = [*value.items(), *getattr(value, "more", ())]
        yield "{"
        for i, (key, each) in enumerate(pairs):
            yield f"{', ' if i else ''}{json.dumps(key)}: "
            yield from _written(each)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for i, each in enumerate(value):
            yield ", " if i else ""
            yield from _written(each)
        yield "]"
    else:
        yield json.dumps(value)


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: the list or object, and the index or key."""
    found, rest = [], [document]
    while rest:
        at = rest.pop()
        inner = list(at.items()) if isinstance(at, dict) else list(enumerate(at)) if isinstance(at, list) else []
        found += [(at, key) for key, _ in inner]
        rest += [each for _, each in inner]
    return found


def odd(dice: Dice) -> Any:
    """A value that hardly fits anywhere."""
    kind = dice.randrange(10)
    if kind < 4:
        return Raw(dice.choice(NUMBERS))
    if kind < 7:
        return dice.choice(TEXTS)
    if kind < 9:
        return dice.choice([None, True, False, [], {}, [[]], [{}], {"": None}, [None], [1, "1", 1.0], {"a": 1}])
    depth = dice.choice(DEEP)
    return Raw(dice.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth]))


def changed(document: Any, dice: Dice, times: int = 1) -> Any:
    """A copy of a document with something changed, as often as asked."""
    document = copy.deepcopy(document)
    for _ in range(times):
        at, key = dice.choice(places(document))
        document = dice.choice(CHANGES)(document, at, key, dice)
    return document


def _replace(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    at[key] = odd(dice)
    return document


def _nudge(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """Another number, or another text that is much like it."""
    value = at[key]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or isinstance(value, Raw):
        return _replace(document, at, key, dice)
    if isinstance(value, str):
        one = value[: (i := dice.randrange(len(value) + 1))] + value[i + 1 :]
        like = [one, value + " ", " " + value, value.upper(), value * 2, value + dice.choice(TEXTS), value[::-1]]
        at[key] = dice.choice(like)
    else:
        at[key] = dice.choice([value + 1, value - 1, -value, value * 2, value / 2, value * 1e300, value + 1e-9])
    return document


def _drop(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    del at[key]
    return document


def _repeat(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """The same again, in a list, or under the same key with another value."""
    if isinstance(at, list):
        at.insert(dice.randrange(len(at) + 1), copy.deepcopy(at[key]))
        return document
    twice = Pairs(at)
    twice.more = ((key, odd(dice) if dice.chance(0.5) else copy.deepcopy(at[key])),)
    return _put(document, at, twice)


def _retag(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """Another key, or another place in the list."""
    value = at.pop(key)
    if isinstance(at, list):
        at.insert(dice.randrange(len(at) + 1), value)
    else:
        known = [other for _, other in places(document) if isinstance(other, str)] or ["x"]
        at[dice.choice([dice.choice(known), dice.choice(TEXTS), key[1:], key + "s", key.upper()])] = value
    return document


def _swap(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """Contents of two places exchanged: of two leaves, two nodes, or a leaf and its container."""
    other, where = dice.choice(places(document))
    other[where] = copy.deepcopy(at[key])
    return document


def _wrap(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    at[key] = dice.choice([lambda v: [v], lambda v: {"value": v}, lambda v: [v, v], str, lambda v: json.dumps(str(v))])(
        at[key]
    )
    return document


def _many(document: Any, at: Any, key: Any, dice: Dice) -> Any:
    """A list or an object of very many."""
    number = dice.choice([10, 300, 5_000])
    at[key] = dice.choice([[copy.deepcopy(at[key])] * min(number, 300), list(map(str, range(number)))])
    return document


def _put(document: Any, old: Any, new: Any) -> Any:
    """The document with a part replaced by another."""
    if old is document:
        return new
    for at, key in places(document):
        if at[key] is old:
            at[key] = new
    return document


CHANGES = (_replace, _replace, _nudge, _nudge, _nudge, _drop, _drop, _repeat, _retag, _swap, _swap, _wrap, _many)


Table = list[list[str]]

DAY = datetime.date(2024, 1, 31)


FLOATS = (float("nan"), float("inf"), -0.0, 1e308)


def _arrow(cells: list[str], dice: Dice) -> Any:
    """A column of some type of Arrow's."""
    n = len(cells)
    numbers = [i if not c.isdigit() else int(c[:9]) for i, c in enumerate(cells)]
    plain = [c.encode("utf-8", "replace").decode() for c in cells]
    holes = [None if dice.chance(0.3) else c for c in plain]
    text = pa.string()

    def some(values: list[Any], kind: Any) -> Any:
        return pa.array([dice.choice(values) for _ in cells], kind)

    kinds = {
        "text": lambda: pa.array(plain),
        "large text": lambda: pa.array(plain, pa.large_string()),
        "holes": lambda: pa.array(holes, pa.string()),
        "dictionary": lambda: pa.array(plain).dictionary_encode(),
        "numbers in a dictionary": lambda: pa.array(numbers).dictionary_encode(),
        "whole": lambda: pa.array(numbers, dice.choice([pa.int64(), pa.int32(), pa.uint64()])),
        "small": lambda: pa.array([v % 100 for v in numbers], dice.choice([pa.int8(), pa.uint8()])),
        "float": lambda: pa.array([dice.choice([v, v + 0.5, *FLOATS]) for v in numbers], pa.float64()),
        "half": lambda: pa.array(numbers, pa.float32()).cast(pa.float16()) if n else pa.array([], pa.float32()),
        "decimal": lambda: pa.array([Decimal(v) / 10 for v in numbers], pa.decimal128(38, dice.choice([1, 10]))),
        "large decimal": lambda: pa.array([Decimal(10) ** 40 + v for v in numbers], pa.decimal256(76, 2)),
        "bool": lambda: some([True, False, None], pa.bool_()),
        "nothing": lambda: pa.nulls(n),
        "all missing": lambda: pa.nulls(n, dice.choice([pa.string(), pa.float64(), pa.int64(), pa.timestamp("ns")])),
        "binary": lambda: pa.array([dice.choice([c.encode(), b"\xff\xfe", b""]) for c in plain], pa.binary()),
        "fixed": lambda: pa.array([c.encode()[:4].ljust(4) for c in plain], pa.binary(4)),
        "date": lambda: pa.array([DAY] * n, dice.choice([pa.date32(), pa.date64()])),
        "late date": lambda: some([3_000_000, 2**31 - 1, -(2**31), 0], pa.int32()).cast(pa.date32()),
        "time stamp": lambda: some([0, 2**62, -(2**62), None], pa.int64()).cast(
            pa.timestamp(dice.choice(["s", "ms", "us", "ns"]), dice.choice([None, "UTC", "Mars/Base", "+01:00"]))
        ),
        "time": lambda: some([0, 86_399, 86_400_000], pa.int32()).cast(pa.time32("ms")),
        "duration": lambda: some([0, 2**62, -1], pa.int64()).cast(pa.duration("ns")),
        "list": lambda: pa.array([[v] for v in numbers]),
        "map": lambda: pa.array([[("a", v)] for v in numbers], pa.map_(pa.string(), pa.int64())),
        "struct": lambda: pa.array([{"a": v, "b": None} for v in numbers], pa.struct([("a", pa.int64()), ("b", text)])),
    }
    name = dice.choice(["text"] * 8 + ["whole"] * 4 + list(kinds))
    try:
        return kinds[name]()
    except (pa.ArrowException, OverflowError):
        return pa.array(plain)


def as_parquet(table: Table, dice: Dice) -> bytes:
    """A table as Parquet, in columns of all types, and in all ways of writing them."""
    header = [name.encode("utf-8", "replace").decode() for name in table[0]] if table else []
    rows = [[*row, *[""] * len(header)][: len(header)] for row in table[1:]]
    arrays = [_arrow([row[i] for row in rows], dice) for i in range(len(header))]
    ways = {
        "compression": dice.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
        "data_page_version": dice.choice(["1.0", "2.0"]),
        "version": dice.choice(["1.0", "2.4", "2.6"]),
        "store_schema": dice.chance(0.7),
        "write_statistics": dice.chance(0.5),
        "row_group_size": dice.choice([1, 3, 1_000]),
    }
    out = io.BytesIO()
    for options in (ways | {"use_dictionary": dice.chance(0.5)}, {}, None):
        out.seek(0)
        out.truncate()
        try:
            if options is None:
                break
            parquet.write_table(pa.Table.from_arrays(arrays, names=header), out, **options)
            return out.getvalue()
        except (pa.ArrowException, ValueError):  # some types cannot be written in some ways
            continue
    parquet.write_table(pa.table({"x": ["a"]}), out)
    return out.getvalue()


def as_frame(table: Table, dice: Dice) -> Any:
    """A table as a data frame of pandas, in columns of all types, with objects of all kinds in cells."""
    header = table[0] if table else []
    rows = [[*row, *[""] * len(header)][: len(header)] for row in table[1:]]
    columns: list[Any] = []
    things = [None, float("nan"), pd.NA, pd.NaT, 1, 1.5, True, "a", b"a", Decimal("1.1"), DAY, (1,), [1], {}, 10**30]
    things += [float("inf"), np.float32(0.1), np.int8(3), np.str_("a"), np.datetime64("2024-01-31"), 1j, "\ud800"]
    for i in range(len(header)):
        cells = [row[i] for row in rows]
        texts = pd.Series(cells, dtype=object)
        kinds = {
            "text": lambda t=texts: t,
            "category": lambda t=texts: t.astype("category"),
            "string": lambda t=texts: t.astype("string"),
            "number": lambda t=texts: pd.to_numeric(t, errors="coerce"),
            "nullable": lambda t=texts: pd.to_numeric(t, errors="coerce").astype("Float64"),
            "objects": lambda t=texts: pd.Series([dice.choice([c, dice.choice(things)]) for c in t], dtype=object),
            "dates": lambda t=texts: pd.Series(pd.to_datetime(["2024-01-31"] * len(t))),
            "time zones": lambda t=texts: pd.Series(pd.to_datetime(["2024-01-31"] * len(t)).tz_localize("UTC")),
            "periods": lambda t=texts: pd.Series(pd.period_range("2024-01", periods=len(t), freq="M")),
            "intervals": lambda t=texts: pd.Series(pd.interval_range(0, len(t))),
            "bool": lambda t=texts: pd.Series([dice.chance(0.5) for _ in t], dtype=bool),
            "complex": lambda t=texts: pd.Series([1j] * len(t), dtype=complex),
            "sparse": lambda t=texts: pd.Series(pd.arrays.SparseArray([1] * len(t))),
            "missing": lambda t=texts: pd.Series([dice.choice([None, pd.NA, float("nan")])] * len(t), dtype=object),
        }
        name = dice.choice(["text"] * 6 + ["number"] * 3 + list(kinds))
        try:
            columns.append(kinds[name]())
        except (ValueError, TypeError):
            columns.append(texts)
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(len(rows)))
    frame.columns = pd.Index(header, dtype=object)
    if dice.chance(0.1):
        frame.columns = [dice.choice([name, 1, None, (name, 1), float("nan"), DAY]) for name in frame.columns]
    if dice.chance(0.1):
        frame.index = pd.Index([dice.choice([0, 1, "x"]) for _ in range(len(frame))], dtype=object)
    if dice.chance(0.05):
        with suppress(ValueError, TypeError):  # pandas takes no two columns of one name for an index
            frame = frame.set_index(frame.columns[0]) if len(frame.columns) else frame
    return frame


ODD = (
    "",
    "0",
    "-1",
    "1",
    "2",
    "0.5",
    "NaN",
    "INF",
    "-INF",
    "1e400",
    "9" * 400,
    "x" * 5_000,
    "true",
    "\u00a0",
    "(missing)",
)


def as_xml(content: bytes, dice: Dice) -> bytes:
    """A document with an element or an attribute changed; raises what the parser does where it is none."""
    root = ET.fromstring(content)
    dice.choice(XML_CHANGES)(root, dice)
    return ET.tostring(root, encoding="utf-8")


def _parent(root: ET.Element, dice: Dice) -> ET.Element:
    return dice.choice([element for element in root.iter() if len(element)])


def _xml_drop(root: ET.Element, dice: Dice) -> None:
    parent = _parent(root, dice)
    parent.remove(parent[dice.randrange(len(parent))])


def _twice(root: ET.Element, dice: Dice) -> None:
    parent = _parent(root, dice)
    at = dice.randrange(len(parent))
    for _ in range(dice.choice([1, 1, 1, 40])):
        parent.insert(at, parent[at])


def _xml_swap(root: ET.Element, dice: Dice) -> None:
    parent = _parent(root, dice)
    a, b = dice.randrange(len(parent)), dice.randrange(len(parent))
    parent[a], parent[b] = parent[b], parent[a]


def _graft(root: ET.Element, dice: Dice) -> None:
    """A copy of an element somewhere else, perhaps within itself."""
    copy = ET.fromstring(ET.tostring(dice.choice(list(root.iter())[1:])))
    parent = _parent(root, dice)
    parent.insert(dice.randrange(len(parent) + 1), copy)


def _rename(root: ET.Element, dice: Dice) -> None:
    elements = list(root.iter())
    dice.choice(elements).tag = dice.choice(elements).tag


def _attribute(root: ET.Element, dice: Dice) -> None:
    """Another value of an attribute: one of the document, or an odd one."""
    elements = [element for element in root.iter() if element.attrib]
    element = dice.choice(elements)
    key = dice.choice(sorted(element.attrib))
    values = sorted({value for other in elements for value in other.attrib.values()})
    element.set(key, dice.choice(values) if dice.chance(0.6) else dice.choice(ODD))


def _without(root: ET.Element, dice: Dice) -> None:
    element = dice.choice([element for element in root.iter() if element.attrib])
    del element.attrib[dice.choice(sorted(element.attrib))]


def _lend(root: ET.Element, dice: Dice) -> None:
    """An attribute that another element has."""
    elements = [element for element in root.iter() if element.attrib]
    key, value = dice.choice(sorted(dice.choice(elements).attrib.items()))
    dice.choice(elements).set(key, value)


def _text(root: ET.Element, dice: Dice) -> None:
    elements = [element for element in root.iter() if (element.text or "").strip()] or [root]
    dice.choice(elements).text = dice.choice(ODD)


XML_CHANGES: tuple[Callable[[ET.Element, Dice], None], ...] = (
    *(_xml_drop, _twice, _xml_swap, _graft, _rename, _attribute, _attribute, _attribute, _without, _lend, _text),
)


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
