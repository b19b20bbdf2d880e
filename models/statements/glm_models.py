"""Reader of regressions that tools saved: scikit-learn (fitted, or a skops file) and PMML, as statements ``glm``.

What a fit has minimised, and where it stopped, is read from its parameters; what they leave open is refused, with the
parameter (``--param``) that says it. The columns of the model's input are followed through the steps of a pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NoReturn

import numpy as np

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of
from maxent.models.formats.pmml.xml_document import Element, parse_xml
from maxent.models.formats.release_reader import UNNAMED, Converted, Head, Wanted, model_reader
from maxent.models.formats.scikit_learn.columns import naming_problems
from maxent.models.formats.scikit_learn.models import LASSOS, REGRESSIONS
from maxent.models.reading import Reader
from maxent.models.statements.glm import CHUNK, EPS, UPDATES, Coefficients, Stopping, Term, gradient_beyond, gradient_of
from maxent.models.statements.read import FORMAT, parse_statements
from maxent.models.statements.statement import decimals
from maxent.models.tables.cells import holds_numbers, numbers
from maxent.models.tables.frame import Frame
from maxent.models.tables.table_files import read_frame

# What ``--param`` may say of a fit.
PARAMETERS = ("tolerance", "mean_tolerance", "l2", "l1", "class_weight", "weights", "of", "family", "values")
# Digits after the point of a number that was not rounded.
FULL = 17
# Significant digits of a number that was not rounded for print, at least.
SIGNIFICANT = 15
STOPPED = (
    "how far from its optimum the fit stopped: its width is assumed, which is no proof and which bounds and verdicts "
    "name (--param tolerance=LARGEST GRADIENT states it, --train counts it)"
)
ON_THE_WORD = "a proof of where the fit stopped: its width is that of --param, on the word of who converts it"
UNCOUNTED = "what the training table tells of the fit"
UNWEIGHTED = "weights of rows in the fit: the statement holds of a fit without (--param weights=COLUMN)"
LEAST = 64 * EPS
# Keys that say where a fit stopped, in place of which its gradient is stated.
_STOPS = ("mean_tolerance", "mean_gap", "loss_tolerance", "deviance_tolerance", "assumed")
# What a fit of PMML is held to by the training table: the tolerance that scikit-learn has by default.
_HELD = {"mean_tolerance": 1e-4, "assumed": True}
# What is said of a fit where nothing shows that it has no penalty, no weights of rows and no offset.
UNSHOWN = {"assumed": True}


def stopped_in(wanted: Wanted) -> str:
    """What is lost where nothing proves where a fit stopped; a training table that is given could not count it."""
    return STOPPED if wanted.train is None else STOPPED.replace(", --train counts it", "")


def statements_of(
    statements: Sequence[Mapping[str, Any]],
    source: str,
    wanted: Wanted,
    classes: Sequence[str],
    target: str | None = None,
    individuals: int | None = None,
) -> Any:
    """Statements as a release."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "target": {"name": wanted.target or target or UNNAMED, "classes": list(wanted.classes or classes)},
        "statements": [{"kind": "glm", **each, "terms": unrounded(each["terms"], source)} for each in statements],
    }
    if individuals is not None:
        document["individuals"] = individuals
    return parse_statements(document, source).release


def said(source: str, wanted: Wanted) -> dict[str, Any]:
    """Keys of a statement that the caller gives by parameters."""
    found: dict[str, Any] = {}
    for name in ("tolerance", "mean_tolerance", "l2", "l1"):
        if name in wanted.parameters:
            try:
                found[name] = float(wanted.parameters[name])
            except ValueError:
                raise invalid(source, "parameters", name, "a number", shorten(wanted.parameters[name])) from None
    if "weights" in wanted.parameters:
        found["weights"] = wanted.parameters["weights"]
    if "class_weight" in wanted.parameters:
        given = wanted.parameters["class_weight"]
        pairs = [part.partition(":") for part in given.split(",")]
        try:
            weights = {name.strip(): float(weight) for name, _, weight in pairs}
        except ValueError:
            raise invalid(source, "parameters", "class_weight", "CLASS:WEIGHT,CLASS:WEIGHT", shorten(given)) from None
        if len(weights) < len(pairs):
            raise invalid(source, "parameters", "class_weight", "each class once", shorten(given))
        found["class_weight"] = weights
    return found


def classes_in(wanted: Wanted, reader: Reader, target: str | None) -> list[str] | None:
    """The classes that the training table has, sorted; None without it."""
    if wanted.classes is not None:
        return list(wanted.classes)
    if "values" in wanted.parameters:
        return [part.strip() for part in wanted.parameters["values"].split(",")]
    if wanted.train is None or target is None:
        return None
    frame = read_frame(wanted.train, "train", [], reader)
    if target not in frame.header:
        return None
    column = read_frame(wanted.train, "train", [target], reader).columns[target]
    texts = {column.texts()[code] for code in set(column.codes.tolist()) if code >= 0}
    try:
        return sorted(texts, key=float)
    except ValueError:
        return sorted(texts)


def entry(term: Term, value: float | str, **more: Any) -> dict[str, Any]:
    """An entry of ``terms``; a number that is no text was not rounded."""
    found: dict[str, Any] = {"intercept": True} if term.column is None else {"column": term.column}
    if term.level is not None:
        found["level"] = term.level
    if (term.center, term.scale) != (0.0, 1.0):
        found |= {"center": term.center, "scale": term.scale}
    digits = {} if isinstance(value, str) else {"digits": _digits(value)}
    return {**found, "value": value, **digits, **more}


def _digits(value: float) -> int:
    """Digits after the point with which a double is told apart from all others."""
    return FULL if abs(value) >= 1e-2 or value == 0 else FULL - int(np.floor(np.log10(abs(value))))


def unrounded(terms: list[dict[str, Any]], source: str) -> list[dict[str, Any]]:
    """Terms with all digits, zeros at the end too, where one value shows that none was rounded."""
    texts = [str(term["value"]) for term in terms]
    for i, text in enumerate(texts, 1):
        if not _finite(text):
            raise invalid(source, f"term {i}", "value", "a finite number", shorten(text))
    if not any(len(re.sub(r"[^0-9]", "", t.lower().partition("e")[0]).strip("0")) >= SIGNIFICANT for t in texts):
        return terms

    def digits(text: str) -> int:
        first = int(np.floor(np.log10(abs(float(text))))) if float(text) else 0
        return max(SIGNIFICANT - 1 - first, decimals(text), 0)

    return [{**term, "value": float(text), "digits": digits(text)} for term, text in zip(terms, texts, strict=True)]


def _finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


# Columns of a model's input, followed through the steps before it.


@dataclass(slots=True)
class _Steps:
    """Follows columns as terms; every step makes each of its columns of one."""

    source: str

    def through(self, step: Any, columns: Sequence[Term], where: str) -> list[Term]:
        """The columns after a step."""
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return list(columns)
        name = type(step).__name__
        known = type(step).__module__.startswith("sklearn.")
        if known and name == "Pipeline":
            for inner, each in step.steps:
                columns = self.through(each, columns, f"{where}, {inner}")
            return list(columns)
        if known and name in _STEPS:
            return list(_STEPS[name](self, step, columns, where))
        expected = (
            "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, OneHotEncoder, ColumnTransformer or Pipeline"
        )
        self.refuse(where, name, f"a step that centres, scales or marks values: {expected}")

    def refuse(self, where: str, field: str, expected: str, found: str = "another") -> NoReturn:
        raise invalid(self.source, where, field, expected, found)


def _affine(columns: Sequence[Term], center: Any, scale: Any) -> Iterator[Term]:
    centers = np.zeros(len(columns)) if center is None else np.asarray(center, np.float64)
    scales = np.ones(len(columns)) if scale is None else np.asarray(scale, np.float64)
    for column, c, s in zip(columns, centers.tolist(), scales.tolist(), strict=True):
        yield replace(column, center=column.center + c * column.scale, scale=column.scale * s)


def _standard(_: _Steps, step: Any, columns: Sequence[Term], where: str) -> Iterator[Term]:
    yield from _affine(columns, step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None)


def _ranged(steps: _Steps, step: Any, columns: Sequence[Term], where: str) -> Iterator[Term]:
    if step.clip:
        steps.refuse(where, "clip", "false: values beyond the training data are changed", "true")
    slope = np.asarray(step.scale_, np.float64)
    yield from _affine(columns, -np.asarray(step.min_) / slope, 1 / slope)


def _robust(_: _Steps, step: Any, columns: Sequence[Term], where: str) -> Iterator[Term]:
    yield from _affine(
        columns, step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None
    )


def _marked(steps: _Steps, step: Any, columns: Sequence[Term], where: str) -> Iterator[Term]:
    rare = getattr(step, "_infrequent_indices", None)
    if rare is not None and any(each is not None for each in rare):
        steps.refuse(where, "min_frequency", "none: rare values share a column", "some")
    dropped = [None] * len(columns) if step.drop_idx_ is None else list(step.drop_idx_)
    for column, categories, drop in zip(columns, step.categories_, dropped, strict=True):
        if column.column is None or column.level is not None or (column.center, column.scale) != (0.0, 1.0):
            steps.refuse(where, "columns", "columns as the table has them")
        for i, value in enumerate(np.asarray(categories, object).tolist()):
            if i != drop:
                if value is None or (isinstance(value, float) and np.isnan(value)):
                    steps.refuse(where, "categories", "values for everybody", "a missing one")
                level = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
                yield Term(column.column, level)


def _divided(steps: _Steps, step: Any, columns: Sequence[Term], where: str) -> Iterator[Term]:
    names = [str(name) for name in getattr(step, "feature_names_in_", [])]
    width = max((each.stop for each in step.output_indices_.values()), default=0)
    found: list[Term | None] = [None] * width
    for name, each, chosen in step.transformers_:
        place = step.output_indices_.get(name, slice(0, 0))
        if (isinstance(each, str) and each == "drop") or place.start == place.stop:
            continue
        bounds = list(range(len(columns)))[chosen] if isinstance(chosen, slice) else np.atleast_1d(chosen).tolist()
        if bounds and all(isinstance(i, bool) for i in bounds):
            bounds = np.flatnonzero(bounds).tolist()
        given = [columns[names.index(i) if isinstance(i, str) else i] for i in bounds]
        if type(each).__name__ == "FunctionTransformer" and each.func is None:
            each = None
        out = steps.through(each, given, f"{where}, {name}")
        if len(out) != place.stop - place.start or (step.transformer_weights or {}).get(name, 1) != 1:
            steps.refuse(f"{where}, {name}", "columns", "as many columns as the step writes, not weighted")
        found[place] = out
    yield from (column for column in found if column is not None)


_Follow = Callable[[_Steps, Any, Sequence[Term], str], Iterator[Term]]
_STEPS: Mapping[str, _Follow] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _ranged,
    "MaxAbsScaler": lambda _, step, columns, where: _affine(columns, None, step.scale_),
    "RobustScaler": _robust,
    "OneHotEncoder": _marked,
    "ColumnTransformer": _divided,
}


# Models of scikit-learn.

LOGISTIC, POISSON = REGRESSIONS[:1], REGRESSIONS[3:4]
# Solvers that stop at a gradient, or where the loss hardly falls; no file says which. Of others newton-cholesky may
# fall back on L-BFGS that does not converge, without a sign of it; the rest stop where coefficients hardly move.
_BY_GRADIENT = ("lbfgs", "newton-cg")
_BY_FACTORS = ("svd", "cholesky")
# What takes the place of a proof that the file does not hold.
_COUNTS = (
    "or the training table (train=, target=), in which the gradient is counted, or parameters={'tolerance': LARGEST "
    "GRADIENT}, which states it"
)


def is_regression(model: object) -> bool:
    """Whether a fitted model of scikit-learn, or what a pipeline ends in, is a regression that is read."""
    steps = getattr(model, "steps", None)
    final = steps[-1][1] if isinstance(steps, list) and steps else model
    return type(final).__name__ in REGRESSIONS and type(final).__module__.startswith("sklearn.linear_model.")


def fitted(model: Any, wanted: Wanted, reader: Reader, source: str) -> Converted:
    """A regression of scikit-learn as statements."""
    final, before = model, []
    if type(model).__name__ == "Pipeline":
        final, before = model.steps[-1][1], model.steps[:-1]
    first = before[0][1] if before else final
    names = getattr(first, "feature_names_in_", wanted.features)
    if not hasattr(final, "coef_"):
        raise invalid(source, "model", "coef_", "a fitted model: call fit first", "none")
    if np.asarray(final.coef_).dtype != np.float64:
        expected = "a fit in double precision: errors of single precision are not bounded"
        raise invalid(source, "model", "coef_", expected, str(np.asarray(final.coef_).dtype))
    if names is None:
        raise invalid(source, "model", "features", "the names of the columns: features, or fit on a DataFrame", "none")
    named = [str(each) for each in (wanted.features or names)]
    problems = [*naming_problems("features", named, list(map(str, names)), first.n_features_in_, "feature_names_in_")]
    if wanted.classes is not None and (of := list(map(str, getattr(final, "classes_", ())))):
        problems += naming_problems("classes", wanted.classes, of, len(of), "classes_")
    if problems:
        raise InvalidInput(source, problems)
    columns = list(map(Term, named))
    steps = _Steps(source)
    for name, step in before:
        columns = steps.through(step, columns, f"step {name}")
    coefficients = np.atleast_2d(np.asarray(final.coef_, np.float64))
    if len(columns) != coefficients.shape[1]:
        found = f"{len(columns)} columns, {coefficients.shape[1]} coefficients"
        raise invalid(source, "model", "features", "a name for each coefficient", found)
    intercepts = np.broadcast_to(np.atleast_1d(np.asarray(final.intercept_, np.float64)), len(coefficients))
    name = type(final).__name__
    own = [str(c) for c in final.classes_] if name in LOGISTIC else classes_in(wanted, reader, wanted.target)
    if own is None or (name not in LOGISTIC and len(coefficients) > 1):
        expected = "the numbers that the target can be: classes=, or train= with target="
        raise invalid(source, "options", "classes", expected, "none")
    classes = own if wanted.classes is None else list(wanted.classes)
    lost: list[str] = []
    training = _training(wanted, reader, columns, [classes, own], wanted.parameters.get("weights"), lost)
    own_keys = (
        _logistic(source, final, wanted, training, classes)
        if name in LOGISTIC
        else _numeric(source, final, wanted, training)
    )
    keys = {**own_keys, **said(source, wanted)}
    bare = _penalised_intercept(final, keys)
    if not np.isfinite(coefficients).all():
        raise invalid(source, "model", "coef_", "finite numbers", "others")

    def terms(rows: Sequence[int], labels: Sequence[str | None]) -> list[dict[str, Any]]:
        found = []
        for k, label in zip(rows, labels, strict=True):
            more = {} if label is None else {"class": label}
            found += [entry(Term(), float(intercepts[k]), **more, **bare)] if final.fit_intercept else []
            found += [entry(t, float(b), **more) for t, b in zip(columns, coefficients[k], strict=True)]
        return found

    if name not in LOGISTIC:
        family = "poisson" if name in POISSON else "linear"
        content = [{"family": family, "terms": terms([0], [None]), **keys}]
    elif len(classes) == 2:
        content = [{"family": "logistic", "of": classes[1], "terms": terms([0], [None]), **keys}]
    elif getattr(final, "multi_class", "auto") == "ovr" or final.solver == "liblinear":
        content = [
            {"family": "logistic", "of": c, "source": f"model of {c}", "terms": terms([k], [None]), **keys}
            for k, c in enumerate(classes)
        ]
    else:
        content = [{"family": "multinomial", "terms": terms(range(len(classes)), classes), **keys}]
    content = [{"source": name, **each} for each in content]
    if training is not None and not {"tolerance", "mean_tolerance"} & set(wanted.parameters):
        content = [_counted(each, source, wanted, classes, training, lost) for each in content]
    else:
        if not {"weights", "tolerance", "mean_tolerance"} & {*own_keys, *keys}:
            content = [{**each, **UNSHOWN} for each in content]
        lost += [UNWEIGHTED] * ("weights" not in keys) + [stopped_in(wanted)] * ("loss_tolerance" in keys)
    if isinstance(getattr(final, "class_weight", None), str) and "class_weight" not in wanted.parameters:
        lost.append(
            "weights of classes as such: the statement has them as numbers, which tell how many have each class"
        )
    release = statements_of(content, source, wanted, classes)
    version = getattr(final, "_sklearn_version", None)
    if version is None:
        import sklearn

        version = sklearn.__version__
    return Converted(release, f"scikit-learn {shorten(version)}", tuple(lost))


@dataclass(frozen=True, slots=True, eq=False)
class _Training:
    """The training table, and the number of the class of each row, shape (n_rows,)."""

    frame: Frame
    label: IntArray

    def much(self, weights: str | None) -> FloatArray:
        """How much each row counts, shape (n_rows,)."""
        much = np.asarray(self.frame.repeats, np.float64)
        return much if weights is None else much * self.column(Term(weights))

    def column(self, term: Term, rows: slice = slice(None)) -> FloatArray:
        """A column of the design, of some rows."""
        if term.column is None:
            return np.ones(len(self.label[rows]))
        column = self.frame.columns[term.column]
        codes = column.codes[rows]
        if holds_numbers(column):
            found = np.append(numbers(column), np.nan)[codes]
            found = found if term.level is None else (found == float(term.level)).astype(np.float64)
        else:
            level = term.level if isinstance(term.level, str) else f"{term.level:g}"
            found = np.array([*(text == level for text in column.texts()), False], np.float64)[codes]
        return np.asarray((found - term.center) / term.scale)

    def blocks(self, said: Coefficients, n_classes: int) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Design, and what each row counts in its class, of some thousand rows after another."""
        much = self.much(said.weights)
        for begin in range(0, len(self.label), CHUNK):
            rows = slice(begin, begin + CHUNK)
            design = np.stack([self.column(term, rows) for term in said.terms], axis=1)
            cases = np.zeros((len(design), n_classes))
            cases[np.arange(len(design)), self.label[rows]] = much[rows]
            yield design, cases

    def alike(self, said: Coefficients, n_classes: int) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Design, people of each class and weight of those who are alike, shapes (n, n_terms), (n, n_classes), (n,)."""
        key: IntArray = np.zeros(len(self.label), np.int64)
        for name in sorted({each.column for each in (*said.terms, Term(said.weights)) if each.column is not None}):
            codes = self.frame.columns[name].codes.astype(np.int64)
            key = np.unique(key * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        cases = np.zeros((len(first), n_classes))
        np.add.at(cases, (place, self.label), self.much(None))
        design = np.stack([self.column(term)[first] for term in said.terms], axis=1)
        return design, cases, None if said.weights is None else self.column(Term(said.weights))[first]


def _training(
    wanted: Wanted,
    reader: Reader,
    columns: Sequence[Term],
    classes: Sequence[Sequence[str]],
    weights: str | None,
    lost: list[str],
) -> _Training | None:
    """The training table, where it has all columns and the class of each row, by one of the lists of names.

    Where it is given and has not, ``lost`` says so.
    """
    terms = [*columns, *([] if weights is None else [Term(weights)])]
    needed = {term.column for term in terms if term.column is not None}
    if wanted.train is None:
        return None
    target, header = wanted.target, read_frame(wanted.train, "train", [], reader).header
    missing = sorted(needed - set(header)) if target in header else [target or "of the target (--target)"]
    if target is None or missing:
        lost.append(f"{UNCOUNTED}: it has no column {shorten_list(missing)}")
        return None
    frame = read_frame(wanted.train, "train", [target, *sorted(needed)], reader)
    for term in terms:
        column = frame.columns[str(term.column)]
        number = term.level is None or _finite(str(term.level))
        if (column.codes < 0).any() or not (number if holds_numbers(column) else term.level is not None):
            lost.append(f"{UNCOUNTED}: its column {term.column} has other values, or none for somebody")
            return None
    column = frame.columns[target]
    texts, values = column.texts(), numbers(column) if holds_numbers(column) else np.empty(0)
    for names in classes:
        codes = np.array([names.index(text) if text in names else -1 for text in texts] + [-1])
        if len(values) and all(map(_finite, names)):
            said = [float(each) for each in names]
            codes = np.array([said.index(v) if v in said else -1 for v in values.tolist()] + [-1])
        if (codes[column.codes] >= 0).all():
            return _Training(frame, codes[column.codes])
    lost.append(f"{UNCOUNTED}: its column {target} has other classes than {shorten_list(classes[0])}")
    return None


def _counted(
    said: Mapping[str, Any],
    source: str,
    wanted: Wanted,
    classes: Sequence[str],
    training: _Training,
    lost: list[str],
) -> dict[str, Any]:
    """A statement with the gradient at which its fit stopped, as the training table shows.

    Where that is within the tolerance of the fit the statement says so, else the next power of two: no more is told
    of the table.
    """
    content = statements_of([said], source, wanted, classes).statements[0].statements[0].content
    assert isinstance(content, Coefficients)
    largest, *sizes = gradient_of(content.fit, training.blocks(content, len(classes)))
    enough = largest <= content.fit.allowed(float(training.much(content.weights).sum()), *sizes)
    if enough and "mean_tolerance" in said:
        return dict(said)
    return _with_gradient(said, largest, [] if enough else lost)


def _with_gradient(said: Mapping[str, Any], largest: float, lost: list[str]) -> dict[str, Any]:
    """A statement with the next power of two in place of where the fit stopped, and with what is lost of it."""
    largest = float(2.0 ** np.ceil(np.log2(max(largest, 1e-300))))
    lost.append(
        f"whether the fit of {said['source']} converged: its gradient, a sum over people, is up to {largest:g}, more "
        "than its tolerance, and so is the width (rows with weights, penalties, few steps, columns of unlike size)"
    )
    return {**{key: value for key, value in said.items() if key not in _STOPS}, "tolerance": largest}


def counted_printed(
    said: Mapping[str, Any], source: str, wanted: Wanted, reader: Reader, classes: Sequence[str], lost: list[str]
) -> dict[str, Any] | None:
    """A printed statement with the gradient beyond its digits at which its fit stopped, as the training table shows.

    None without one. A fit that was solved and holds of the table is as it was.
    """
    content = statements_of([said], source, wanted, classes).statements[0].statements[0].content
    assert isinstance(content, Coefficients)
    terms = [term for term in content.terms if term.column is not None]
    training = _training(wanted, reader, terms, [classes], content.weights, lost)
    if training is None:
        return None
    people, fit, found = training.alike(content, len(classes)), content.fit, dict(said)
    off, _, squares = gradient_beyond(fit, *people)
    if off or (fit.assumed and fit.family != "linear"):
        beyond, rounding, _ = gradient_beyond(replace(fit, stopping=Stopping(gradient=0.0)), *people)
        found = _with_gradient(said, beyond + rounding, lost if off else [])
    found.pop("assumed", None)
    if not squares:
        del found["residual_se"]
        lost.append("the residual standard error, which the training table does not have")
    return found


def _stopped(
    source: str, final: Any, wanted: Wanted, solvers: Sequence[str], training: _Training | None
) -> dict[str, float]:
    """Where a fit of scikit-learn stopped; with the training table `_counted` counts the gradient."""
    ran = np.max(np.atleast_1d(np.asarray(getattr(final, "n_iter_", 0)))) if final.n_iter_ is not None else 0
    if "tolerance" in wanted.parameters or "mean_tolerance" in wanted.parameters:
        return {}
    if training is not None:
        return {"mean_tolerance": float(final.tol)}
    if ran >= final.max_iter:
        expected = f"a fit that converged: more iterations (max_iter); {_COUNTS}"
        raise invalid(source, "model", "n_iter_", expected, f"{ran} of {final.max_iter}")
    if final.solver not in solvers:
        raise invalid(source, "model", "solver", f"one of {', '.join(solvers)}; {_COUNTS}", shorten(str(final.solver)))
    if type(final).__name__ in POISSON and ran <= 1:
        expected = f"more than one step, which is what an overflow leaves (columns too large to fit); {_COUNTS}"
        raise invalid(source, "model", "n_iter_", expected, str(ran))
    return {"mean_tolerance": float(final.tol), "loss_tolerance": LEAST}


def _logistic(
    source: str, final: Any, wanted: Wanted, training: _Training | None, classes: Sequence[str]
) -> dict[str, Any]:
    """Penalties, weights of classes and tolerance of a logistic regression."""
    keys: dict[str, Any] = _stopped(source, final, wanted, _BY_GRADIENT, training)
    penalty, ratio = getattr(final, "penalty", "deprecated"), getattr(final, "l1_ratio", None) or 0.0
    ratio = {"l1": 1.0, "l2": 0.0}.get(str(penalty), ratio)
    strength = 0.0 if penalty in (None, "none") else 1.0 / float(final.C)
    if strength * (1 - ratio):
        keys["l2"] = strength * (1 - ratio)
    if strength * ratio:
        keys["l1"] = strength * ratio
    weight, names = final.class_weight, dict(zip(map(str, final.classes_), classes, strict=True))
    if isinstance(weight, str) and "class_weight" not in wanted.parameters:
        people: FloatArray = np.zeros(len(classes))
        if training is not None:
            much = training.much(wanted.parameters.get("weights"))
            people = np.bincount(training.label, much, len(classes)).astype(np.float64)
        if weight != "balanced" or not people.all():
            expected = (
                "weights in numbers: parameters={'class_weight': 'A:1,B:2.5'}, or the training table with target=, in "
                "which train= counts those of 'balanced'"
            )
            raise invalid(source, "model", "class_weight", expected, shorten(weight))
        keys["class_weight"] = dict(zip(classes, (people.sum() / (len(classes) * people)).tolist(), strict=True))
    if isinstance(weight, Mapping):
        keys["class_weight"] = {names.get(str(c), str(c)): float(w) for c, w in weight.items()}
    return keys


def _penalised_intercept(final: Any, keys: Mapping[str, Any]) -> dict[str, float]:
    """Penalties of the intercept, which liblinear takes for the coefficient of a column of ``intercept_scaling``."""
    if getattr(final, "solver", None) != "liblinear":
        return {}
    powers = {"l2": 2, "l1": 1}
    return {key: keys[key] / float(final.intercept_scaling) ** powers[key] for key in powers if key in keys}


def _numeric(source: str, final: Any, wanted: Wanted, training: _Training | None) -> dict[str, Any]:
    """Penalty and tolerance of a regression of numbers."""
    name = type(final).__name__
    if getattr(final, "positive", False):
        raise invalid(source, "model", "positive", "false: coefficients at 0 are not stationary", "true")
    if name in POISSON:
        keys: dict[str, Any] = _stopped(source, final, wanted, _BY_GRADIENT[:1], training)
        return {**keys, "mean_l2": float(final.alpha)} if final.alpha else keys
    stated = bool({"tolerance", "mean_tolerance"} & set(wanted.parameters))
    if name == "LinearRegression":
        if not (stated or training is not None or hasattr(final, "singular_")):
            expected = f"columns that are not sparse (OneHotEncoder(sparse_output=False)), which are solved; {_COUNTS}"
            raise invalid(source, "model", "singular_", expected, "none")
        sizes = np.asarray(getattr(final, "singular_", []), np.float64)
        share = sizes / max(float(sizes.max(initial=0.0)), 1e-300)
        if ((share > 1e-12) & (share <= float(getattr(final, "tol", 0.0)) * (1 + 1e-9))).any():
            expected = "columns of like size: the fit left out directions below its parameter tol"
            raise invalid(source, "model", "singular_", expected, "some")
        return {}
    if getattr(final, "normalize", False) is True:
        raise invalid(source, "model", "normalize", "false: penalties are those of the columns as they are", "true")
    if name in LASSOS:
        return _absolute(source, final, wanted, training)
    solver = getattr(final, "solver_", final.solver)
    solved = solver in _BY_FACTORS
    if not (stated or training is not None or solved):
        expected = f"{' or '.join(_BY_FACTORS)} (auto is neither where columns are sparse); {_COUNTS}"
        raise invalid(source, "model", "solver", expected, shorten(str(solver)))
    if np.ndim(final.alpha):
        raise invalid(source, "model", "alpha", "one number", "several")
    return {"l2": float(final.alpha), **({} if stated or solved else {"mean_tolerance": float(final.tol)})}


def _absolute(source: str, final: Any, wanted: Wanted, training: _Training | None) -> dict[str, Any]:
    """Penalties of a lasso or elastic net, and the duality gap at which its coordinate descent stopped."""
    searched = type(final).__name__.endswith("CV")
    alpha = float(final.alpha_ if searched else final.alpha)
    ratio = float(getattr(final, "l1_ratio_", 1.0) if searched else getattr(final, "l1_ratio", 1.0))
    penalties = {"mean_l1": alpha * ratio, "mean_l2": alpha * (1 - ratio)}
    keys: dict[str, Any] = {key: value for key, value in penalties.items() if value}
    if {"tolerance", "mean_tolerance"} & set(wanted.parameters):
        return keys
    gap = float(np.max(np.asarray(final.dual_gap_, np.float64)))
    if training is not None:
        return {**keys, **({"mean_gap": max(gap, 0.0)} if "mean_l1" in keys else {})}
    updates = int(np.max(np.asarray(final.n_iter_))) * int(np.asarray(final.coef_).size)
    if "mean_l1" not in keys or not np.isfinite(gap) or updates > UPDATES:
        expected = (
            f"an absolute penalty, and up to {UPDATES:,} updates: else train= and target=, which count the gradient"
        )
        raise invalid(source, "model", "dual_gap_", expected, f"l1_ratio {ratio:g}, {updates:,} updates")
    return {**keys, "mean_gap": max(gap, 0.0)}


# PMML.

# What changes a target, and the values that leave it as it is.
_RESCALED = {"min": (), "max": (), "castInteger": (), "rescaleConstant": ("0", "0.0"), "rescaleFactor": ("1", "1.0")}


def _pmml(path: str | PathLike[str], wanted: Wanted, reader: Reader, source: str) -> Converted:
    """A ``RegressionModel`` or ``GeneralRegressionModel`` of PMML."""
    root = parse_xml(bytes_of(str(path)), source)
    model = root.one("RegressionModel", "GeneralRegressionModel")
    schema = model.one("MiningSchema")
    for field in schema.all("MiningField"):
        for key, same in (("outliers", "asIs"), ("missingValueReplacement", "none")):
            if field.get(key) not in (None, same):
                field.refuse(key, f"{same}: values of people are taken as they are")
    for rescaled in (t for targets in model.all("Targets") for t in targets.all("Target")):
        for key, nothing in _RESCALED.items():
            if rescaled.get(key) not in (None, *nothing):
                rescaled.refuse(key, "nothing: coefficients are those of the target as the table has it")
    targets = [f.need("name") for f in schema.all("MiningField") if f.get("usageType") in ("target", "predicted")]
    target = wanted.target or model.get("targetVariableName") or (targets[0] if targets else None)
    fields = {f.need("name"): f for f in root.one("DataDictionary").all("DataField")}
    own = [v.need("value") for v in fields[target].all("Value")] if target in fields else []
    classes = wanted.classes or own or classes_in(wanted, reader, target)
    if not classes:
        raise invalid(source, "options", "classes", "the classes: classes=, or train= with target=", "none")
    if (derived := root.first("TransformationDictionary", "LocalTransformations")) and derived.children:
        derived.refuse("content", "no derived fields: give the model over the columns of the table")
    if (local := model.first("LocalTransformations")) is not None and local.children:
        local.refuse("content", "no derived fields: give the model over the columns of the table")
    given = said(source, wanted)
    content = (
        _regression(model, list(classes)) if model.name == "RegressionModel" else _general(model, list(classes), wanted)
    )
    lost = [UNWEIGHTED, "penalties: the statement holds of a fit without, or with those of --param l2= and l1="]
    for i, each in enumerate(content):
        content[i] = each = {"source": model.name, **each, **given}
        if {"tolerance", "mean_tolerance"} & {*given}:
            continue
        linear, notes = each["family"] == "linear", list[str]()
        content[i] = {**each, **(UNSHOWN if linear else _HELD)}
        counted = counted_printed(content[i], source, wanted, reader, classes, notes)
        if counted is not None:
            content[i], lost = counted, notes
        elif linear:
            lost.append(stopped_in(wanted))
        else:
            expected = (
                "parameters={'tolerance': x}, the largest gradient at which the fit may have stopped, mean_tolerance, "
                "or train= and target=, which count it"
            )
            raise invalid(source, model.name, "tolerance", f"{expected}: PMML does not say it", "none")
    application = (root.first("Header") or root).first("Application")
    tool = shorten(application.get("name") or "PMML") if application is not None else "PMML"
    release = statements_of(content, source, wanted, classes, target)
    return Converted(release, tool, tuple(lost))


def _regression(model: Element, classes: list[str]) -> list[dict[str, Any]]:
    function = model.choice("functionName", ("classification", "regression"), "regression")
    link = model.get("normalizationMethod") or "none"
    per: dict[str | None, list[dict[str, Any]]] = {}
    for table in model.all("RegressionTable"):
        if other := next(
            (e for e in table.children if e.name not in ("NumericPredictor", "CategoricalPredictor")), None
        ):
            other.refuse("name", "NumericPredictor or CategoricalPredictor", other.name)
        terms = [entry(Term(), table.need("intercept"))]
        for each in table.all("NumericPredictor"):
            if each.number("exponent", 1.0) != 1:
                each.refuse("exponent", "1")
            terms.append(entry(Term(each.need("name")), each.need("coefficient")))
        for each in table.all("CategoricalPredictor"):
            terms.append(entry(Term(each.need("name"), each.need("value")), each.need("coefficient")))
        per[table.get("targetCategory")] = terms
    if function == "regression":
        if link not in ("none", "exp") or len(per) != 1:
            model.refuse("normalizationMethod", "none (least squares) or exp (Poisson)")
        return [{"family": "linear" if link == "none" else "poisson", "terms": next(iter(per.values()))}]
    filled = {name: terms for name, terms in per.items() if len(terms) > 1 or float(terms[0]["value"]) != 0}
    if len(classes) == 2 and link in ("logit", "softmax") and len(filled) == 1:
        ((name, terms),) = filled.items()
        return [{"family": "logistic", "of": name, "terms": terms}]
    if link != "softmax":
        model.refuse("normalizationMethod", "softmax, or logit with two classes")
    return [{"family": "multinomial", "terms": [{**t, "class": name} for name, terms in filled.items() for t in terms]}]


def _general(model: Element, classes: list[str], wanted: Wanted) -> list[dict[str, Any]]:
    kind, link = model.need("modelType"), model.get("linkFunction") or ""
    law = model.get("distribution") or ""
    if model.get("offsetVariable") or model.get("trialsVariable") or model.get("offsetValue"):
        model.refuse("offsetVariable", "no offset and no trials")
    family = {
        ("generalizedLinear", "logit", "binomial"): "logistic",
        ("generalizedLinear", "log", "poisson"): "poisson",
        ("generalizedLinear", "identity", "normal"): "linear",
    }.get((kind, link, law), {"multinomialLogistic": "multinomial", "generalLinear": "linear"}.get(kind, ""))
    if not family or kind == "regression":
        model.refuse("modelType", "a canonical link: logit of binomial, log of poisson, identity of normal", f"{kind}")
    columns: dict[str, list[Term]] = {p.need("name"): [] for p in model.one("ParameterList").all("Parameter")}
    marked = [p for lists in model.all("FactorList") for p in lists.all("Predictor")]
    for coded in (p for p in marked if p.get("contrastMatrixType") or p.first("Matrix")):
        coded.refuse("contrastMatrixType", "none: a term is 1 for its value, else 0")
    factors = {p.need("name") for p in marked}
    for cell in (c for matrix in model.all("PPMatrix") for c in matrix.all("PPCell")):
        column, value = cell.need("predictorName"), cell.need("value")
        if column not in factors and value != "1":
            cell.refuse("value", "1: no powers")
        columns.setdefault(cell.need("parameterName"), []).append(Term(column, value if column in factors else None))
    terms: list[dict[str, Any]] = []
    cells = list(model.one("ParamMatrix").all("PCell"))
    for cell in cells:
        if (found := columns.get(cell.need("parameterName"))) is None:
            cell.refuse("parameterName", "a parameter of ParameterList")
        if len(found) > 1:
            cell.refuse("parameterName", "terms of one column each", "an interaction")
        of = cell.get("targetCategory")
        more = {"class": of} if family == "multinomial" else {}
        terms.append({**entry(found[0] if found else Term(), cell.need("beta"), **more)})
    if family != "logistic":
        return [{"family": family, "terms": terms}]
    named = {cell.get("targetCategory") for cell in cells} - {None}
    if not named and (reference := model.get("targetReferenceCategory")) is not None:
        named = {c for c in classes if c != reference}
    of = wanted.parameters.get("of", next(iter(named)) if len(named) == 1 else None)
    if of is None:
        cells[0].refuse("targetCategory", "one class of all, or parameters={'of': CLASS}, the class that is modelled")
    return [{"family": family, "terms": terms, "of": of}]


def whole(
    read: Callable[[str | PathLike[str], Wanted, Reader], Converted],
) -> Callable[[str | PathLike[str], Wanted, Reader], Converted]:
    """A reader that refuses a file which is not whole, wherever that shows."""

    def refusing(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
        try:
            found = read(path, wanted, reader)
            stated = {"tolerance", "mean_tolerance"} & set(wanted.parameters)
            return replace(found, lost=(*found.lost, *[ON_THE_WORD] * bool(stated)))
        except InvalidInput:
            raise
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            expected = "what its tool writes of a model"
            raise invalid(shown_path(path), "document", "content", expected, type(error).__name__) from None

    return refusing


def _recognise(head: Head) -> bool:
    found = re.search(r"<(?:\w+:)?(General)?RegressionModel[\s>]", head.text)
    if found is None or re.search(r"<(\w+:)?MiningModel", head.text):
        return False
    return "PMML" in head.text[: found.start()]


@model_reader(
    "glm",
    "a regression of scikit-learn in a skops file, or of PMML, as statements",
    _recognise,
    parameters=PARAMETERS,
    states=True,
)
@whole
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    from maxent.models.formats.skops import Archive, Objects

    source = shown_path(path)
    if not bytes_of(str(path)).startswith(b"PK"):
        return _pmml(path, wanted, reader, source)
    archive = Archive(path)
    model = Objects(archive).made(archive.schema())
    if not is_regression(model):
        raise invalid(source, "document", "model", f"one of {', '.join(REGRESSIONS)}", shorten(type(model).__name__))
    return fitted(model, wanted, reader, source)
