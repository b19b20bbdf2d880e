"""One shape of call: arguments that do not fit are refused by name, models and tables may be values of any library."""

from __future__ import annotations

import copy
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from importlib.util import find_spec
from os import PathLike, fspath
from typing import Any, ParamSpec, TypeVar

from maxent.models.arguments import about_of, check_flags, check_functions, entries, shorten
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.output import TABLE_SUFFIXES
from maxent.models.hints import close_to
from maxent.models.reading import Reading, ReadingBeside
from maxent.models.release import Release

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
# What the reader of a model may need, as `maxent.convert` has it: keys of ``reading=`` beside those of `Reading`.
NEEDED = ("target", "classes", "features", "parameters", "train", "bins", "values")


def called(function: Callable[P, R]) -> Callable[P, R]:
    """A public function whose wrong calls are an `InvalidInput`, and which takes what its users have.

    That is polars, a mapping as ``reading`` (with `NEEDED`), and a fitted model as ``release``.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = _bound(signature, args, kwargs)
        for name, value in given.arguments.items():
            given.arguments[name] = _plain(value)
        first = list(given.arguments.items())[:2]
        try:
            _split_reading(signature, given)
            return function(*given.args, **given.kwargs)
        except InvalidInput as error:
            begins = len(first) == 2 and first[0][0] in ("release", "model")
            if begins and _is_table(first[0][1]) and _is_published(first[1][1]):
                names = ", ".join(name for name, _ in first)
                expected = f"them in this order: {function.__name__}({names})"
                raise invalid("call", ARGUMENT, names, expected, "them swapped, the table first") from error
            raise

    return checked


def takes(call: Callable[P, C]) -> Callable[[Callable[[C], R]], Callable[P, R]]:
    """Make a function of a call, a dataclass of `maxent.api.options`, a public function that takes its fields."""

    def decorated(function: Callable[[C], R]) -> Callable[P, R]:
        return _taking(call, lambda given, limits: function(given), function)

    return decorated


def takes_limits(call: Callable[P, C]) -> Callable[[Callable[[C, dict[str, Any]], R]], Callable[..., R]]:
    """The same of a function that also takes limits by their names."""
    return lambda function: _taking(call, function, function, _LIMITS)


_LIMITS = (inspect.Parameter("limits", inspect.Parameter.VAR_KEYWORD, annotation=Any),)


def _taking(
    call: Any, work: Callable[[Any, dict[str, Any]], R], told: Callable[..., R], more: Sequence[inspect.Parameter] = ()
) -> Callable[..., R]:
    own = inspect.signature(call)
    of = {each.name: each for each in fields(call)}
    functions = [name for name in ("progress", "each", "early", "first") if name in of]
    flags = [name for name, each in of.items() if each.type == "bool"]

    @wraps(told)
    def spread(*args: Any, **kwargs: Any) -> R:
        limits = {name: kwargs.pop(name) for name in [*kwargs] if name not in of}
        given = call(*args, **kwargs)
        asked = [{name: getattr(given, name) for name in names} for names in (functions, flags)]
        check_functions(**asked[0])
        check_flags(**asked[1])
        with watched(given) as given:
            return work(given, limits)

    spread.__doc__ = documented(told.__doc__ or "", call)
    taken = [*own.parameters.values(), *more]
    own = inspect.Signature(taken, return_annotation=told.__annotations__["return"])
    spread.__signature__ = own  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in taken}
    return called(spread)


def documented(text: str, call: Any) -> str:
    """A docstring with the parameters of a call, before what is returned."""
    of_fields = {each.name: each for each in fields(call)}
    text = inspect.cleandoc(text)  # as Python does it from 3.13 on
    told = [
        (name, each.annotation, about.doc or about.help)
        for name, each in inspect.signature(call).parameters.items()
        if (about := about_of(of_fields[name])) is not None
    ]
    at = text.find("**limits\n")
    at = text.index("Returns\n") if at < 0 else at
    return f"{text[:at]}Parameters\n----------\n{entries(told)}{text[at:]}"


def _bound(signature: inspect.Signature, args: Any, kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call by their names."""
    known = signature.parameters.values()
    try:
        return signature.bind(*args, **kwargs)
    except TypeError as error:
        positional = [each.name for each in known if each.kind is each.POSITIONAL_OR_KEYWORD]
        problems = [
            Problem(ARGUMENT, each.name, "a value", "none")
            for i, each in enumerate(known)
            if each.default is each.empty
            and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
            and each.name not in kwargs
            and (each.kind is each.KEYWORD_ONLY or i >= len(args))
        ]
        problems += [
            Problem(ARGUMENT, name, f"one of {', '.join(signature.parameters)}", f"{name}{_close(name, signature)}")
            for name in kwargs
            if name not in signature.parameters and not any(each.kind is each.VAR_KEYWORD for each in known)
        ]
        problems += [
            Problem(ARGUMENT, name, "one value", "two: by its place and by its name")
            for name in positional[: len(args)]
            if name in kwargs
        ]
        if len(args) > len(positional):
            expected = f"the rest by name, behind {', '.join(positional)}"
            problems.append(Problem(ARGUMENT, "call", expected, f"{len(args)} arguments by their place"))
        raise InvalidInput("call", problems or [Problem(ARGUMENT, "call", "other arguments", str(error))]) from None


def _close(name: str, signature: inspect.Signature) -> str:
    return close_to(name, list(signature.parameters))


def _plain(value: Any) -> Any:
    """A table of polars as one of pandas; anything else as it is."""
    if type(value).__module__.split(".")[0] != "polars":
        return value
    if hasattr(value, "collect"):
        value = value.collect()
    return value.to_pandas() if hasattr(value, "to_pandas") else value


def _split_reading(signature: inspect.Signature, given: inspect.BoundArguments) -> None:
    """Give what the reader of a model needs to it."""
    found = given.arguments
    needed: dict[str, Any] = {}
    if (reading := found.get("reading")) is not None and not isinstance(reading, Reading):
        if not isinstance(reading, Mapping):
            raise invalid("options", ARGUMENT, "reading", "a Reading, or a mapping", shorten(reading))
        own = [each.name for each in fields(Reading)]
        for name in reading:
            if name not in (*own, *NEEDED):
                expected = f"one of {', '.join((*own, *NEEDED))}"
                raise invalid("options", ARGUMENT, "reading", expected, shorten(name))
        needed = {name: reading[name] for name in NEEDED if name in reading}
        found["reading"] = Reading(**{name: reading[name] for name in own if name in reading}) if reading else None
    first = next(iter(signature.parameters))
    if first == "model":
        if "train" in needed:
            raise invalid("options", ARGUMENT, "reading", "no train: that is X", "one")
        for name in needed:
            if found.get(name) is not None:
                raise invalid("options", ARGUMENT, name, "one value", "two: one of them in reading=")
        found.update(needed)
    elif first == "release":
        found["release"] = _converted(found, needed)
    elif first == "releases":
        found["releases"] = _each_converted(found, needed)


def _is_table(value: Any) -> bool:
    """Whether a value is a table, or the name of one."""
    return hasattr(value, "columns") or (
        isinstance(value, (str, PathLike)) and fspath(value).lower().endswith(TABLE_SUFFIXES)
    )


def _is_published(value: Any) -> bool:
    """Whether a value is a release or a model, or the name of a file that is no table."""
    return isinstance(value, Release) or (
        not _is_table(value) if isinstance(value, (str, PathLike)) else _is_model(value)
    )


def _is_model(value: Any) -> bool:
    """Whether a value is a fitted model, and no release, file, table, or list of these."""
    if isinstance(value, (str, PathLike, Release, list, tuple, type)) or hasattr(value, "columns"):
        return False
    from maxent.api.convert import is_boosted_elsewhere
    from maxent.models.formats.scikit_learn.models import is_model

    return bool(is_boosted_elsewhere(value) or is_model(value) or hasattr(value, "steps"))


def _converted(found: dict[str, Any], needed: Mapping[str, Any]) -> Any:
    """A release, or a list of them, with those of models in the place of models.

    What models take of the other arguments of the call is taken away from them.
    """
    given = found["release"]
    listed = isinstance(given, (list, tuple))
    each = list(given) if listed else [given]
    models = [_is_model(one) or bool(needed and not (listed and isinstance(one, Release))) for one in each]
    if not any(models):
        return given
    from maxent.api.convert import with_kept
    from maxent.models.formats.scikit_learn.pipelines import joined

    names = ("target", "classes", "features", "parameters")
    taken: dict[str, Any] = {name: found.pop(name) for name in names if name in found}
    asked = {name: value for name, value in {**taken, **needed}.items() if value is not None}
    if "train" not in asked and any(hasattr(one, "steps") for one in each):
        frames = [found.get(name) for name in ("truth", "qi")]
        asked["train"] = next((frame for frame in frames if hasattr(frame, "columns")), None)
    plain = {name: _plain(value) for name, value in asked.items()}
    reading: Reading | None = found.get("reading")
    kept = []
    for i, is_one in enumerate(models):
        if is_one:
            each[i], beside = with_kept(each[i], **plain, reading=reading)
            kept += [beside] if beside else []
    if kept:
        usual = Reading() if reading is None else reading
        found["reading"] = ReadingBeside(
            **{own.name: getattr(usual, own.name) for own in fields(Reading)}, aside=joined(*kept)
        )
    return each if listed else each[0]


def _each_converted(found: Mapping[str, Any], needed: Mapping[str, Any]) -> Any:
    """Releases with those of models in the place of models, and of files too where something is ``needed`` of them."""
    given = found["releases"]
    if isinstance(given, Mapping):
        return {name: _each_converted({**found, "releases": [each]}, needed)[0] for name, each in given.items()}
    if not isinstance(given, (list, tuple)):
        return given
    from maxent.api.convert import convert

    asked = {"target": found.get("target"), "reading": found.get("reading"), **needed}
    models = [_is_model(each) or (needed and isinstance(each, (str, PathLike))) for each in given]
    return [convert(each, **asked) if is_one else each for each, is_one in zip(given, models, strict=True)]


# Progress of long calls in a notebook, where tqdm draws it.

AFTER = 1.0  # seconds after which a call is long


def in_notebook() -> bool:
    """Whether a notebook shows what is computed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


@contextmanager
def watched(call: C) -> Iterator[C]:
    """A call whose progress a bar of tqdm shows after a while, where it is in a notebook and nobody is told of it."""
    if getattr(call, "progress", call) is not None or not in_notebook() or find_spec("tqdm") is None:
        yield call
        return
    begin, bars = time.monotonic(), list[Any]()

    def told(what: str, done: int, total: int) -> None:
        if not bars and time.monotonic() - begin >= AFTER:
            bars.append(_bar())
        for bar in bars:
            bar.total, bar.n = total or None, done
            bar.set_description_str(what)

    shown = copy.copy(call)
    object.__setattr__(shown, "progress", told)
    try:
        yield shown
    finally:
        for bar in bars:
            bar.close()


def _bar() -> Any:
    """The bar of a notebook, or one of text where widgets are missing."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    return tqdm(leave=False, bar_format="{desc} {n_fmt} of {total_fmt} {bar}")
