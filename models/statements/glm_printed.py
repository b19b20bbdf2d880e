"""Readers of regressions as R and statsmodels print them: names of coefficients become terms."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from maxent.models.arguments import shorten, shorten_list
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.statements.glm import FAMILIES, Term
from maxent.models.statements.glm_models import PARAMETERS, UNWEIGHTED, classes_in, entry, said, statements_of, whole
from maxent.models.statements.statement import decimals
from maxent.models.tables.table_files import read_frame

if TYPE_CHECKING:
    from os import PathLike

    from maxent.models.formats.release_reader import Head
    from maxent.models.reading import Reader

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
# A number as R and statsmodels print it.
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
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

    def refuse(self, field: str, expected: str, found: str) -> NoReturn:
        raise invalid(self.source, "regression", field, expected, found)

    def converted(self, wanted: Wanted, reader: Reader, tool: str, stopping: Mapping[str, float]) -> Converted:
        """The statement of it."""
        family = wanted.parameters.get("family", self.family)
        if family not in FAMILIES:
            self.refuse(
                "family", f"parameters={{'family': '{' or '.join(FAMILIES)}'}}", shorten(family) if family else "none"
            )
        target = wanted.target or self.target
        classes = classes_in(wanted, reader, target)
        if classes is None:
            if family != "logistic":
                expected = "the classes, the numbers that the target can be: classes=, or train= with target="
                self.refuse("classes", expected, "none")
            classes = ["0", "1"]
        of = wanted.parameters.get("of", classes[-1])
        given, known = said(self.source, wanted), self._known(wanted, reader)
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
        if family != "linear" and not {"tolerance", "mean_tolerance"} & {*given}:
            keys |= stopping
        if family == "linear" and self.residual is not None and not {"l2", "l1", "class_weight"} & {*given}:
            keys["residual_se"] = {"value": self.residual}
        if self.weights is not None:
            keys["weights"] = self.weights
        source = f"regression of {target}" if target else "regression"
        statement = {"source": source, **keys, **given}
        people = self.people if not {"weights"} & {*statement} else None
        release = statements_of([statement], self.source, wanted, classes, self.target, people)
        lost = [CONTRASTS] if any("level" in term for term in terms) else []
        lost += [] if "weights" in statement else [UNWEIGHTED]
        return Converted(release, tool, tuple(lost))

    def _klass(self, klass: str, classes: Sequence[str]) -> str:
        """A class of a multinomial, by its name or its number."""
        if klass in classes:
            return klass
        if re.fullmatch("[0-9]{1,9}", klass) and int(klass) < len(classes):
            return classes[int(klass)]
        self.refuse("class", f"one of {shorten_list(classes)}", shorten(klass))

    def _known(self, wanted: Wanted, reader: Reader) -> dict[str, set[str] | None]:
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
            r"(?:C\((?P<c>[^,()]+)(?:, *Treatment.*)?\)|(?P<d>[^\[\]:]+))\[(?:T\.)?(?P<level>[^\]]*)\]", name
        )
        if patsy is not None:
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
            self.refuse(name, f"{expected}; columns: {shorten_list([*known])}", "several" if found else "neither")
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


def _call(printed: Printed, text: str) -> None:
    """What the call of ``glm`` or ``lm`` says."""
    found = re.search(r"^Call:\s*\n?(.*?)(?=\n\s*\n)", text, re.DOTALL | re.MULTILINE)
    call = " ".join(found[1].split()) if found else ""
    head = re.match(r"(?:stats::)?(glm|lm)\((?:formula = )?(.*)\)$", call)
    if head is None:
        printed.refuse("Call", "a call of glm or lm", shorten(call) if call else "none")
    if other := re.search(r"\b(subset|offset|start|contrasts|method)\s*[=(]", call):
        printed.refuse("Call", "no subset, offset, contrasts or method, which change what was fitted", other[1])
    family = re.search(r"family = \"?(\w+)\"?(?:\((?:link = )?\"?(\w*)\"?\))?", call)
    name, link = (family[1], family[2]) if family else ("gaussian", None)
    known = _FAMILY.get(name)
    if known is None or (link and link != known[1]):
        printed.refuse(
            "family", "binomial (logit), poisson (log) or gaussian (identity)", f"{name} {link or ''}".strip()
        )
    printed.family = known[0]
    weights = re.search(r"weights = ([\w.$]+)", call)
    printed.weights = None if weights is None else weights[1].rpartition("$")[2]
    formula = re.split(r", (?:family|data|weights|x|y|model|na\.action|control) =", head[2])[0]
    left, tilde, right = formula.partition("~")
    response = re.fullmatch(r"(?:(?:as\.)?factor\()?([\w.]+)\)?(?:\s*==\s*\"([^\"]*)\")?", left.strip())
    if tilde and response is not None:
        printed.target = response[1]
    names = [part.strip() for part in right.replace("-", "+").split("+")]
    stripped = [re.sub(r"^(?:as\.)?factor\(([\w.]+)\)$", r"\1", name) for name in names]
    printed.columns = tuple(name for name in stripped if re.fullmatch(r"[A-Za-z.][\w.]*", name) and name != ".")


def _r(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source, text = shown_path(path), read_text(path)
    printed = Printed(source, {})
    if "Coefficients:" not in text:
        printed.coefficients[None] = _coefficient_table(source, text)
        return printed.converted(wanted, reader, "R", {"deviance_tolerance": R_DEVIANCE})
    _call(printed, text)
    if re.search(r"not converge", text) or (
        (ran := re.search(r"Fisher Scoring iterations: ([0-9]{1,15})", text)) and int(ran[1]) >= 25
    ):
        printed.refuse("iterations", "a fit that converged", "one that did not")
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
        for names, values in zip(lines[::2], lines[1::2], strict=False):
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


def _statsmodels(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source, text = shown_path(path), read_text(path)
    printed = Printed(source, {})
    tool, stopping = "statsmodels", {"mean_tolerance": STATSMODELS_MEAN}
    if "Results" not in text.lstrip().partition("\n")[0]:
        printed.coefficients[None] = _coefficient_table(source, text)
        return printed.converted(wanted, reader, tool, stopping)
    facts: dict[str, str] = {}
    klass: str | None = None
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        if len(cells) > 2 and cells[1] == "coef":
            inside = True
            level = re.fullmatch(r".*=\s*(.+)", cells[0])
            klass = level[1].strip() if level else None
        elif inside and len(cells) >= 6 and re.fullmatch(NUMBER, cells[1]):
            printed.coefficients.setdefault(klass, []).append((cells[0], cells[1]))
        else:
            inside = False
            for key, value in zip(cells[::2], cells[1::2], strict=False):
                facts.setdefault(key.rstrip(":"), value)
    model = facts.get("Model", "")
    if model == "GLM":
        family, link = facts.get("Model Family", "").lower(), facts.get("Link Function", facts.get("Link", "")).lower()
        known = _FAMILY.get(family)
        if known is None or link != known[1]:
            printed.refuse("Model Family", "binomial (logit), poisson (log) or gaussian (identity)", f"{family} {link}")
        printed.family, stopping = known[0], {"deviance_tolerance": R_DEVIANCE}
        if facts.get("Method") != "IRLS":
            stopping = {"mean_tolerance": STATSMODELS_MEAN}
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
    people = facts.get("No. Observations", "")
    printed.people = int(people) if re.fullmatch("[0-9]{1,15}", people) else None
    return printed.converted(wanted, reader, tool, stopping)


def _recognise_r(head: Head) -> bool:
    printed = re.search(r"^Call:\s*\n?(?:stats::)?\s*(glm|lm)\(", head.text, re.MULTILINE) is not None
    return printed or re.match(r'"?"?,"?Estimate"?,"?Std\. Error', head.text) is not None


READER = model_reader(
    "glm-r",
    "a regression that R prints, or its coefficients as CSV",
    (),
    whole(_r),
    _recognise_r,
    parameters=PARAMETERS,
    states=True,
)
STATSMODELS = model_reader(
    "glm-statsmodels",
    "a regression of statsmodels: its summary, or its parameters, as CSV",
    (),
    whole(_statsmodels),
    lambda head: re.match(r"[^\n]*(Regression|Model Regression) Results\s*\n\s*Dep\. Variable:", head.text) is not None,
    parameters=PARAMETERS,
    states=True,
)
