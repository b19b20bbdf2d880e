"""A section for a model card, from the record of a check: Markdown, as on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from maxent.disclosure.limits import CHECK_WORDS, NO_DRAWS_ID, UNINFORMED, published_words
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_json_object
from maxent.policy.record import FORMAT

VERDICTS = {"pass": "PASS", "fail": "FAIL", "cannot_tell": "CANNOT TELL"}
# Keys of a record that a card is made of.
NEEDED = ("created", "output", "versions", "policy", "call", "checks", "overrides", "verdict", "decision")
# What the reason follows in a sentence about a check.
_UNTOLD = f"{CHECK_WORDS['cannot_tell']}, "
_MARKS = re.compile(r"([\\`*_\[\]#~|])")


def model_card(record: str | PathLike[str] | Mapping[str, Any], *, level: int = 2) -> str:
    """A section for the card of a model (README.md): what was checked, against what, and what was found.

    It is meant for "Bias, Risks, and Limitations" of the card. What the record says of the tables of people, beyond
    their number, is left out.

    Parameters
    ----------
    record : path, or the object of a record
        As ``maxent check --record`` and `maxent.Checked.record` write it.
    level : int
        Of the heading, 1 to 6.

    Returns
    -------
    str
        Markdown. Words of the record are escaped: none of them is markup.
    """
    if isinstance(level, bool) or not isinstance(level, int) or not 1 <= level <= 6:
        raise invalid("model_card", ARGUMENT, "level", "a whole number from 1 to 6", str(level))
    if isinstance(record, Mapping):
        source, found = "record", record
    else:
        source, found = shown_path(record), read_json_object(record)
    _check(source, found)
    try:
        return "\n".join(_lines(found, level)) + "\n"
    except (AttributeError, KeyError, TypeError) as error:
        expected = "a record as maxent check --record writes it"
        raise invalid(source, "document", "content", expected, f"{type(error).__name__}: {error}") from None


def _check(source: str, record: Mapping[str, Any]) -> None:
    if record.get("format") != FORMAT:
        raise invalid(source, "document", "format", f"{FORMAT!r}, of a record", repr(record.get("format", "nothing")))
    missing = [Problem("document", key, "a key of a record", "nothing") for key in NEEDED if key not in record]
    if missing:
        raise InvalidInput(source, missing)


def _lines(record: Mapping[str, Any], level: int) -> Iterator[str]:
    output, verdict, policy = record["output"], record["verdict"], record["policy"]
    told = VERDICTS.get(verdict["status"], verdict["status"])
    yield f"{'#' * level} Disclosure of the training data"
    yield ""
    name = _text(policy["name"]) or "a policy"
    version = f" ({_text(policy['version'])})" if policy.get("version") else ""
    yield (
        f"**{_text(told)}** against the policy {name}{version}. Checked on {_text(record['created'][:10])} with "
        f"maxent {_text(record['versions']['maxent'])}."
    )
    if not verdict["reliable"]:
        yield ""
        yield f"**Not to be relied on:** {_text(verdict['trouble'])}"
    yield ""
    trees = "1 tree" if output["trees"] == 1 else f"{output['trees']:,} trees"
    yield f"- Model: {_text(output['name'])}, {trees} ({_text(output['tool'])}), about {output['individuals']:,} people"
    yield f"- Sensitive attribute: {_text(output['target'])} ({_listed(output['classes'])})"
    public = [name for name, role in output["attributes"].items() if role == "public"]
    yield f"- An adversary is taken to know: {_listed(public) or 'nothing of these people'}"
    options, content = record["call"]["options"], policy["content"]
    if options.get("no_marginal") or content.get("adversary", {}).get("marginal") is False:
        yield f"- Left out: {UNINFORMED}"
    if published := options.get("published_as"):
        yield f"- Published: {_text(published_words(published))}"
    if sensitive := options.get("sensitive") or content.get("sensitive", {}).get("classes"):
        yield f"- Judged are these classes alone: {_listed(sensitive)}"
    yield from (f"- {_text(sentence)}" for sentence in verdict.get("unread", ()))
    if record.get("purpose"):
        yield f"- Purpose: {_text(record['purpose'])}"
    hashes = ", ".join(f"`{file['sha256']}`" for file in output["files"][:3])
    more = len(output["files"]) - 3
    if hashes:
        yield f"- SHA-256 of the model: {hashes}{f', and {more} more files' if more > 0 else ''}"
    yield ""
    yield "| Check | What | Limit | Found | Status |"
    yield "| --- | --- | --- | --- | --- |"
    for row in record["checks"]:
        status = "switched off" if row["off"] else VERDICTS.get(row["status"], row["status"]).lower()
        why = row["said"].partition(_UNTOLD)[2] or row["said"]
        found = why if row["status"] == "cannot_tell" else _figure(row["found"])
        cells = (row["id"], row["title"], _figure(row["limit"]), found, status)
        yield f"| {' | '.join(map(_text, cells))} |"
    if record["overrides"]:
        yield ""
        how = {NO_DRAWS_ID: "was taken back"}
        yield from (
            f"- {_text(each['id'])} {how.get(each['id'], 'was switched off')}: {_text(each['reason'])}"
            for each in record["overrides"]
        )
    yield ""
    decision = record["decision"]
    if decision.get("decision"):
        by = ", ".join(_text(decision[key]) for key in ("decided_by", "role", "decided_at") if decision.get(key))
        why = f". {_text(decision['reason'])}" if decision.get("reason") else ""
        yield f"Decision: {_text(decision['decision'])}{f' ({by})' if by else ''}{why}"
    else:
        yield "Nobody has decided on the release in this record."


def _figure(value: object) -> str:
    """A limit, or a figure, in words."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_figure(each)}" for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_figure, value))
    return str(value)


def _listed(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    shown = ", ".join(map(_text, names[:12]))
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


def _text(value: object) -> str:
    """Words as they are: no mark of Markdown or HTML has a meaning in them, and they are on one line."""
    words = " ".join(str(value).split())
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        words = words.replace(mark, entity)
    return _MARKS.sub(r"\\\1", words)
