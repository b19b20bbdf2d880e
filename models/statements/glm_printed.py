"""Readers of regressions as R and statsmodels print them: names of coefficients become terms."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from os import PathLike
from typing import Any, NoReturn

from maxent.models.arguments import shorten, shorten_list
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.statements.glm import FAMILIES, Term
from maxent.models.statements.glm_models import (
    PARAMETERS,
    UNSHOWN,
    UNWEIGHTED,
    classes_in,
    counted_printed,
    entry,
    said,
    statements_of,
    stopped_in,
    whole,
)
from maxent.models.statements.statement import decimals
from maxent.models.tables.table_files import read_frame

INTERCEPTS = ("(Intercept)", "Intercept", "const", "intercept")
# Families by the names that R and statsmodels have for them, with their canonical links.
_FAMILY = {
    "binomial": ("logistic", "logit"),
    "quasibinomial": ("logistic", "logit"),
    "poisson": ("poisson", "log"),
    "quasipoisson": ("poisson", "log"),
    "gaussian": ("linear", "identity"),
}
_MODEL = {"Logit": "logistic", "MNLogit": "multinomial", "Poisson": "poisson", "OLS": "linear"}
# By how much R moves the deviance in its last step, and the gradient of the mean loss at which statsmodels stops: its
# default is a Newton method, which is far nearer; BFGS and conjugate gradients stop here.
R_DEVIANCE, STATSMODELS_MEAN = 1e-8, 1e-5
NNET_MEAN = 1e-3  # of nnet's multinom, which stops where its deviance hardly falls
R_STEPS = 25  # R's glm gives up after so many
# How a class is named by the column of its coefficients.
COLUMN = "column "
# A number as R and statsmodels print it.
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# What nothing printed shows: the caller answers for it.
_PLAIN = "the statement holds of a plain fit that converged"
R_COEFFICIENTS = f"the call: a CSV file of coefficients does not show it, {_PLAIN}, without offset or subset"
R_SUBSET = "which rows were fitted: the statement holds of the rows that the call takes, data = {}"
R_CONVERGED = "whether the fit converged: print(model) does not show it, summary(model) does"
STATSMODELS_UNNAMED = "the name of the response: statsmodels calls one without a name y, {} is read"
STATSMODELS_PLAIN = (
    "options of the fit: statsmodels' summary does not show the method (method=), a penalty (fit_regularized), "
    f"an offset or exposure: {_PLAIN}"
)
CONTRASTS = "contrasts: terms of a factor are read as one value each against the reference (contr.treatment)"


@dataclass(slots=True)
class Printed:
    """What a text says of a regression: names and values of coefficients, and whatever else it states."""

    source: str
    coefficients: dict[str | None, list[tuple[str, str]]]
    family: str | None = None
    target: str | None = None
    columns: tuple[str, ...] = ()
    people: int | None = None
    residual: str | None = None
    weights: str | None = None
    within: bool = False
    shown: bool = True  # whether it shows that a linear fit is plain
    lost: tuple[str, ...] = ()

    def refuse(self, field: str, expected: str, found: str) -> NoReturn:
        raise invalid(self.source, "regression", field, expected, found)

    def converted(self, wanted: Wanted, reader: Reader, tool: str, stopping: Mapping[str, float]) -> Converted:
        """The statement of it."""
        family = wanted.parameters.get("family", self.family)
        if family not in FAMILIES:
            self.refuse(
                "family", f"parameters={{'family': '{' or '.join(FAMILIES)}'}}", shorten(family) if family else "none"
            )
        told = "of" in wanted.parameters
        target = wanted.target or self.target
        if self.target not in (None, wanted.target) and not re.fullmatch(r"(?!\d)[\w.]+", self.target or ""):
            self.refuse("response", "a column of the table, no expression", shorten(self.target))
        if self.target not in (None, target) and not (told and family == "logistic"):
            more = ", or parameters={'of': 'CLASS'}, the class that it marks" if family == "logistic" else ""
            self.refuse("response", f"{shorten(target)}, the target{more}", shorten(self.target))
        classes = classes_in(wanted, reader, target)
        if classes is None:
            if family != "logistic":
                expected = "the classes, the numbers that the target can be: classes=, or train= with target="
                self.refuse("classes", expected, "none")
            classes = ["0", "1"]
        if family == "logistic" and len(classes) > 2 and not told:
            self.refuse("of", "parameters={'of': 'CLASS'}, or two classes", shorten_list(classes))
        of = wanted.parameters.get("of", classes[-1])
        given, known = said(self.source, wanted), self.known(wanted, reader)
        terms = []
        for klass, rows in self.coefficients.items():
            label = {} if klass is None else {"class": self._klass(klass, classes)}
            for name, value in rows:
                extra: dict[str, Any] = dict(label)
                if self.within:  # R rounds the column, and once more for print
                    extra["within"] = 0.55 * 10.0 ** -decimals(value)
                terms.append(entry(self._term(name, known), value, **extra))
        keys: dict[str, Any] = {"family": family, "terms": terms}
        if family == "logistic":
            keys["of"] = of
        stopped = not ((family == "linear" and self.shown) or {"tolerance", "mean_tolerance"} & {*given})
        if stopped:
            keys |= UNSHOWN if family == "linear" else stopping
        if family == "linear" and self.residual is not None and not {"l2", "l1", "class_weight"} & {*given}:
            keys["residual_se"] = {"value": self.residual}
        if self.weights is not None:
            keys["weights"] = self.weights
        source = f"regression of {target}" if target else "regression"
        statement, wider = {"source": source, **keys, **given}, list[str]()
        counted = None
        if not {"tolerance", "mean_tolerance"} & {*given}:
            counted = counted_printed(statement, self.source, wanted, reader, classes, wider)
        statement = counted or statement
        people = self.people if not {"weights"} & {*statement} else None
        release = statements_of([statement], self.source, wanted, classes, self.target, people)
        lost = [CONTRASTS] if any("level" in term for term in terms) else []
        if counted is None:
            lost += [UNWEIGHTED] * ("weights" not in statement) + [stopped_in(wanted)] * stopped
        if family == "logistic" and not told and (tool == "R" or list(classes) != ["0", "1"]):
            named = f"P({target or 'target'} = {of})"
            lost.append(f"the order of the response's levels: {named} is read, of the last class (--param of=CLASS)")
        return Converted(release, tool, (*lost, *wider, *self.lost))

    def _klass(self, klass: str, classes: Sequence[str]) -> str:
        """A class of a multinomial, by its name or its number."""
        if klass.startswith(COLUMN) and int(klass.removeprefix(COLUMN)) + 1 < len(classes):
            return classes[int(klass.removeprefix(COLUMN)) + 1]  # the first class is the reference
        if klass in classes:
            return klass
        if re.fullmatch("[0-9]{1,9}", klass) and int(klass) < len(classes):
            return classes[int(klass)]
        self.refuse("class", f"one of {shorten_list(classes)}", shorten(klass))

    def known(self, wanted: Wanted, reader: Reader) -> dict[str, set[str] | None]:
        """Columns that terms can be of, with their values where these are known."""
        named = wanted.features or self.columns
        if wanted.train is None:
            return dict.fromkeys(named)
        header = read_frame(wanted.train, "train", [], reader).header
        frame = read_frame(wanted.train, "train", list(named or header), reader)
        return {name: set(column.texts()) for name, column in frame.columns.items()}

    def _term(self, name: str, known: Mapping[str, set[str] | None]) -> Term:
        """The term of a coefficient: ``age``, ``regionb``, ``region_b``, ``C(region)[T.b]``, ``factor(region)b``."""
        if name in INTERCEPTS:
            return Term()
        if name in known:
            return Term(name)
        patsy = re.fullmatch(
            r"(?:C\((?P<c>[^,()]+)(?:, *(?P<coding>.+))?\)|(?P<d>[^\[\]:,()]+))\[(?:T\.)?(?P<level>[^\[\]]*)\]", name
        )
        if patsy is not None:
            if patsy["coding"] and not re.fullmatch(r"Treatment(?:\([^()]*\))?", patsy["coding"]):
                self.refuse(name, "Treatment, a value each against the reference", shorten(patsy["coding"]))
            return Term((patsy["c"] or patsy["d"]).strip(), patsy["level"])
        found: list[tuple[str, str]] = []
        for column, values in known.items():
            for start in (column, f"{column}_", f"factor({column})", f"as.factor({column})"):
                level = name.removeprefix(start)
                if name.startswith(start) and level and (values is None or level in values):
                    found.append((column, level))
        found = list(dict.fromkeys(found))
        if values_known := [each for each in found if known[each[0]] is not None]:
            found = values_known
        if not found and not known and re.fullmatch(r"[A-Za-z_.][\w.]*", name):
            expected = "the columns that the model was fitted on: features=, or train="
            self.refuse(name, expected, "none named")
        if len(found) != 1:
            expected = "a column, or a column and one of its values (no interactions, powers or functions)"
            self.refuse(
                name,
                f"{expected}; columns: {shorten_list([*known]) or 'none named'}",
                "several" if found else "neither",
            )
        return Term(*found[0])


# R.


def _coefficient_table(source: str, text: str) -> list[tuple[str, str]]:
    """Names and estimates of a CSV file, with a header or without columns that nobody needs."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:
        raise invalid(source, "file", "content", "CSV of R's write.csv", str(error)) from None
    header = [cell.strip() for cell in rows[0]] if rows else []
    at = next((i for i, cell in enumerate(header) if cell in ("Estimate", "coef", "x", "0", "params")), None)
    if at is None:
        expected = "a column Estimate, as write.csv(coef(summary(model))) writes it"
        raise invalid(source, "line 1", "header", expected, "another header")
    found = []
    for number, row in enumerate(rows[1:], 2):
        if len(row) <= at or not re.fullmatch(NUMBER, row[at].strip()):
            what = shorten(row[at]) if len(row) > at else "no such column"
            raise invalid(source, f"line {number}", header[at] or "value", "a number", what)
        found.append((row[0].strip(), row[at].strip()))
    return found


# Arguments of glm and lm that are read, or change nothing of what was fitted.
_HARMLESS = ("family", "data", "weights", "na.action", "control", "x", "y", "model", "qr", "singular.ok")


def _arguments(text: str) -> dict[str, str]:
    """Arguments of a call by their names, as R prints them; one without a name has an empty one."""
    found: dict[str, str] = {}
    quoted = r"\"(?:[^\"\\]|\\.)*\""
    depth, start = 0, 0
    for mark in re.finditer(rf"{quoted}|[(\[{{]|[)\]}}]|,|$", text):
        depth += (mark[0] in ("(", "[", "{")) - (mark[0] in (")", "]", "}"))
        if (mark[0] == "," and depth == 0) or (mark.end() == len(text) and not mark[0]):
            name = re.match(r"\s*([A-Za-z.][\w.]*) = ", text[start : mark.start()])
            found[name[1] if name else ""] = text[start + (name.end() if name else 0) : mark.start()].strip()
            start = mark.end()
    return found


def _stops_no_sooner(control: str) -> bool:
    """Whether a control asks for R's default precision and steps, or more."""
    inner = re.fullmatch(r"(?:list|(?:stats::)?glm\.control)\((.*)\)", control)
    for name, value in (_arguments(inner[1]) if inner else {"": control}).items():
        number = float(value) if re.fullmatch(NUMBER, value) else None
        fine = {"epsilon": number and number <= R_DEVIANCE, "maxit": number and number >= R_STEPS, "trace": True}
        if not fine.get(name):
            return False
    return True


def _call(printed: Printed, text: str, stated: bool) -> None:
    """What the call of ``glm`` or ``lm`` says; weights that are ``stated`` otherwise are not read."""
    found = re.search(r"^Call:\s*\n?(.*?)(?=\n\s*\n)", text, re.DOTALL | re.MULTILINE)
    call = " ".join(found[1].split()) if found else ""
    head = re.match(r"(?:stats::)?(glm|lm)\((.*)\)$", call)
    if head is None:
        expected = "a call of glm or lm (of multinom: write.csv(coef(model)), with --param family=multinomial)"
        printed.refuse("Call", expected, shorten(call) if call else "none")
    given = _arguments(head[2])
    formula = given.pop("formula" if "formula" in given else "", "")
    if other := next((name for name in given if name not in _HARMLESS), "offset" if "offset(" in formula else None):
        expected = "formula, family, data and weights, no others, which change what was fitted (subset, offset, ...)"
        printed.refuse("Call", expected, shorten(other) if other else "an argument without a name")
    if "control" in given and not _stops_no_sooner(given["control"]):
        printed.refuse("Call", "no control that lets a fit stop before it converged", shorten(given["control"]))
    if not re.fullmatch(r"(?:[\w.]+::)?[\w.]+", data := given.get("data", "d")):
        printed.lost += (R_SUBSET.format(shorten(data)),)
    family = re.match(r"\"?(\w+)\"?(?:\((?:link = )?\"?(\w*)\"?\))?$", given.get("family", "gaussian"))
    if family is None:
        printed.refuse("family", "binomial, poisson or gaussian", shorten(given["family"]))
    name, link = family[1], family[2]
    known = _FAMILY.get(name)
    if known is None or (link and link != known[1]):
        printed.refuse(
            "family", "binomial (logit), poisson (log) or gaussian (identity)", f"{name} {link or ''}".strip()
        )
    printed.family = known[0]
    if "weights" in given and not stated:
        column = re.fullmatch(r"(?:[\w.]+\$)?((?!\d)[\w.]+)", given["weights"])
        if column is None:
            printed.refuse("weights", "a column, or parameters={'weights': 'COLUMN'}", shorten(given["weights"]))
        printed.weights = column[1]
    left, _, right = (part.strip() for part in formula.partition("~"))
    printed.target = re.sub(r"^(?:as\.)?factor\((.*)\)$", r"\1", left) or None
    names = [part.strip() for part in right.replace("-", "+").split("+")]
    stripped = [re.sub(r"^(?:as\.)?factor\(([\w.]+)\)$", r"\1", name) for name in names]
    printed.columns = tuple(name for name in stripped if re.fullmatch(r"[A-Za-z.][\w.]*", name) and name != ".")


def _recognise_r(head: Head) -> bool:
    printed = re.search(r"^Call:\s*\n?(?:stats::)?\s*(glm|lm)\(", head.text, re.MULTILINE) is not None
    return printed or re.match(r'"?"?,"?Estimate"?,"?Std\. Error', head.text) is not None


@model_reader(
    "glm-r", "a regression that R prints, or its coefficients as CSV", _recognise_r, parameters=PARAMETERS, states=True
)
@whole
def _r(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source, text = shown_path(path), read_text(path)
    printed = Printed(source, {})
    if "Coefficients:" not in text:
        printed.lost, printed.shown = (R_COEFFICIENTS,), False
        if wanted.parameters.get("family") == "multinomial":
            printed.coefficients |= _multinomial(source, text, by_class=True)
            return printed.converted(wanted, reader, "R", {"mean_tolerance": NNET_MEAN, "assumed": True})
        printed.coefficients[None] = _coefficient_table(source, text)
        return printed.converted(wanted, reader, "R", {"deviance_tolerance": R_DEVIANCE})
    _call(printed, text, "weights" in wanted.parameters)
    ran = re.search(r"Fisher Scoring iterations: ([0-9]{1,15})", text)
    if "not converge" in text or (ran and int(ran[1]) >= R_STEPS):
        printed.refuse("iterations", "a fit that converged", "one that did not")
    if ran is None and printed.family != "linear":
        printed.lost += (R_CONVERGED,)
    block = re.split(r"^Coefficients:.*\n", text, maxsplit=1, flags=re.MULTILINE)[1]
    block = re.split(r"\n\s*\n|\n---", block)[0]
    lines = block.splitlines()
    if lines and "Estimate" in lines[0]:
        printed.within = True
        for line in lines[1:]:
            row = re.match(rf"(.+?)\s+({NUMBER}|NA)\s+(?:{NUMBER}|NA|Inf)", line)
            if row is None:
                printed.refuse("Coefficients", "a name and numbers in every line", shorten(line))
            printed.coefficients.setdefault(None, []).append((row[1].strip(), row[2]))
    else:
        for names, values in zip_longest(lines[::2], lines[1::2], fillvalue=""):
            found = values.split()
            cells = _cells(names, len(found))
            if len(cells) != len(found):
                printed.refuse("Coefficients", "a value below each name", shorten(names))
            printed.coefficients.setdefault(None, []).extend(zip(cells, found, strict=True))
    kept = [(name, value) for name, value in printed.coefficients.get(None, []) if value != "NA"]
    if not kept or not all(re.fullmatch(NUMBER, value) for _, value in kept):
        printed.refuse("Coefficients", "numbers", "others")
    printed.coefficients[None] = kept
    if total := re.search(
        r"([0-9]{1,15}) Total \(i\.e\. Null\)|Null deviance:.* on ([0-9]{1,15}) +degrees of freedom", text
    ):
        intercept = any(name in INTERCEPTS for name, _ in kept)
        printed.people = int(total[1] or total[2]) + intercept
    if error := re.search(rf"Residual standard error: ({NUMBER}) on ([0-9]{{1,15}}) degrees of freedom", text):
        printed.residual, printed.people = error[1], int(error[2]) + len(kept)
    if "observation" in text and "deleted" in text:
        printed.refuse("observations", "people who were all in the fit", "some deleted for missing values")
    return printed.converted(wanted, reader, "R", {"deviance_tolerance": R_DEVIANCE})


def _cells(line: str, n: int) -> list[str]:
    """Names that R prints right-aligned; blanks are within names only where they are single."""
    found = line.split()
    return found if len(found) == n else [cell.strip() for cell in re.split(r"\s{2,}", line.strip())]


# statsmodels.


def _multinomial(source: str, text: str, *, by_class: bool) -> dict[str | None, list[tuple[str, str]]]:
    """Names and values of a CSV file with a row for each class but the first (nnet), or a column (MNLogit)."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    header = rows[0][1:] if rows else []
    if not header or not (by_class or header == [str(i) for i in range(len(header))]):
        expected = (
            "terms, as write.csv(coef(model))" if by_class else "columns 0, 1, ..., as params.to_csv() of MNLogit"
        )
        raise invalid(source, "line 1", "header", f"{expected} writes them", shorten_list(header) if header else "none")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header) + 1 or not all(re.fullmatch(NUMBER, cell) for cell in row[1:]):
            raise invalid(source, f"line {number}", "value", f"{len(header)} numbers", shorten(",".join(row[1:])))
    if by_class:
        return {row[0]: list(zip(header, row[1:], strict=True)) for row in rows[1:]}
    return {f"{COLUMN}{i}": [(row[0], row[i + 1]) for row in rows[1:]] for i in range(len(header))}


def _coefficient(line: str, cells: list[str], width: int) -> tuple[str, str] | None:
    """Name and value of a line of the table; statsmodels quotes no names, even with commas."""
    if len(cells) != width:
        cells = [cell.strip() for cell in line.rsplit(",", width - 1)]
    rest = [re.fullmatch(rf"{NUMBER}|[-+]?(?:nan|inf)", cell) for cell in cells[2:]]
    known = len(cells) == width and re.fullmatch(NUMBER, cells[1]) and all(rest)
    return (cells[0], cells[1]) if known else None


@model_reader(
    "glm-statsmodels",
    "a regression of statsmodels: its summary, or its parameters, as CSV",
    r"[^\n]*(Regression|Model Regression) Results\s*\n\s*Dep\. Variable:",
    parameters=PARAMETERS,
    states=True,
)
@whole
def _statsmodels(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source, text = shown_path(path), read_text(path)
    printed = Printed(source, {}, lost=(STATSMODELS_PLAIN,))
    tool, iterated = "statsmodels", {"mean_tolerance": STATSMODELS_MEAN, "assumed": True}
    stopping: dict[str, float] = iterated
    if "Results" not in text.lstrip().partition("\n")[0]:
        printed.shown = False
        if wanted.parameters.get("family") == "multinomial":
            printed.coefficients |= _multinomial(source, text, by_class=False)
        else:
            printed.coefficients[None] = _coefficient_table(source, text)
        return printed.converted(wanted, reader, tool, stopping)
    facts: dict[str, str] = {}
    klass: str | None = None
    width, notes = 0, False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        if len(cells) > 2 and cells[1] == "coef":
            width = len(cells)
            level = re.fullmatch(r".*=\s*(.+)", cells[0])
            klass = level[1].strip() if level else None
        elif width and (row := _coefficient(line, cells, width)):
            printed.coefficients.setdefault(klass, []).append(row)
        elif not width or (cells[:1] and cells[0].endswith(":")):
            for key, value in zip(cells[::2], cells[1::2], strict=False):
                facts.setdefault(key.rstrip(":"), value)
        elif not (notes := notes or not line.strip()) and line.strip("-= "):
            raise invalid(source, f"line {number}", "coef", "a name and numbers", shorten(line.strip()))
    model = facts.get("Model", "")
    if model == "GLM":
        family, link = facts.get("Model Family", "").lower(), facts.get("Link Function", facts.get("Link", "")).lower()
        known = _FAMILY.get(family)
        if known is None or link != known[1]:
            printed.refuse("Model Family", "binomial (logit), poisson (log) or gaussian (identity)", f"{family} {link}")
        printed.family, stopping = known[0], {"deviance_tolerance": R_DEVIANCE}
        printed.shown = False
        if facts.get("Method") != "IRLS":
            stopping = iterated
    elif model in _MODEL:
        printed.family = _MODEL[model]
    else:
        printed.refuse("Model", f"GLM, {', '.join(_MODEL)}", shorten(model) if model else "none")
    ran = facts.get("No. Iterations") or "0"
    if facts.get("converged", "True") != "True" or not re.fullmatch("[0-9]{1,2}", ran):
        printed.refuse("converged", "True", "a fit that did not")
    if not printed.coefficients:
        printed.refuse("coef", "a line for each coefficient", "none")
    printed.target = facts.get("Dep. Variable") or None
    if (
        printed.target == "y"
        and wanted.target is not None
        and "y" not in {wanted.target, *printed.known(wanted, reader)}
    ):
        printed.target = None
        printed.lost += (STATSMODELS_UNNAMED.format(shorten(wanted.target)),)
    people = facts.get("No. Observations", "")
    printed.people = int(people) if re.fullmatch("[0-9]{1,15}", people) else None
    rest, terms = facts.get("Df Residuals", ""), facts.get("Df Model", "")
    if model == "GLM" and printed.people and re.fullmatch(NUMBER, rest) and re.fullmatch("[0-9]{1,9}", terms):
        counted = float(rest) + int(terms) + 1
        if "weights" not in wanted.parameters and counted != printed.people:
            expected = f"those of {printed.people:,} rows without weights, or parameters={{'weights': 'COLUMN'}}"
            printed.refuse("Df Residuals", expected, f"those of {counted:,.10g}")
    return printed.converted(wanted, reader, tool, stopping)
