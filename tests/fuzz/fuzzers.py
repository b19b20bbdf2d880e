"""The fuzzers by their names, and what to say of a case."""

from collections.abc import Callable, Mapping

from fuzz import decisions, models, options, releases, studies, tables
from fuzz.case import Case
from fuzz.law import outcome

FUZZERS: Mapping[str, Callable[[int], Case]] = {
    "releases": releases.case,
    "tables": tables.case,
    "studies": studies.case,
    "options": options.case,
    "models": models.case,
    "decisions": decisions.case,
}

SHOWN = 3_000  # Bytes of a file that are shown


def broken(name: str, number: int) -> str | None:
    """Breach of the law by a case, None for none."""
    found = outcome(FUZZERS[name](number))
    if found.broken is None:
        return None
    return f"--- {name} {number} (python tests/fuzz {name} {number} shows it): {found.broken}"


def shown(name: str, number: int) -> str:
    """A case, and what comes of it."""
    case = FUZZERS[name](number)
    call = " ".join(map(repr, case.arguments)) if case.python is None else str(case.python)
    lines = [f"{name} {number}: maxent {call}"]
    for file, content in case.files.items():
        text = content[:SHOWN].decode("utf-8", "backslashreplace")
        lines += [f"--- {file}, {len(content)} bytes", text if text.isprintable() else ascii(text)[1:-1]]
    found = outcome(case)
    lines += [f"--- exit status {found.status}", found.out[:SHOWN], found.err[:SHOWN], f"--- broken: {found.broken}"]
    return "\n".join(lines)
