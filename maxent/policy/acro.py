"""The configuration of ACRO (``default.yaml``) as a policy: what of it is about trees, and what is not.

Source: github.com/AI-SDC/ACRO, ``acro/default.yaml``. The file is a flat YAML mapping of numbers, booleans and
a list of words, and is read as such: nothing else of YAML is understood, and nothing else is taken for one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from maxent.models.errors import InvalidInput, Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.hints import close_to

SUFFIXES = (".yaml", ".yml")

_THRESHOLD = "a whole number of at least 1"
_SHARE = "a share from 0 to 1"
_FLAG = "True or False"
_WORDS = "a list of extensions, each in a line that begins with a dash"

KEYS: Mapping[str, str] = {
    "safe_threshold": _THRESHOLD,
    "safe_dof_threshold": _THRESHOLD,
    "safe_nk_n": _THRESHOLD,
    "safe_nk_k": _SHARE,
    "safe_pratio_p": _SHARE,
    "check_missing_values": _FLAG,
    "survival_safe_threshold": _THRESHOLD,
    "zeros_are_disclosive": _FLAG,
    "safe_round_base": _THRESHOLD,
    "federated": _FLAG,
    "blocked_extensions": _WORDS,
}
"""Key -> what its value has to be."""

NOT_ABOUT_TREES: Mapping[str, str] = {
    "check_missing_values": "missing values of a variable that is aggregated: leaves have none",
    "survival_safe_threshold": "survival tables and plots: a tree has none",
    "safe_round_base": "rounding of tables as a mitigation: counts of a release are taken as they are",
    "federated": "where ACRO runs its checks",
}
"""Key -> what it is about, in place of trees."""

_LINE = re.compile(r"([A-Za-z_]\w*)\s*:(?:\s+([^\s#]\S*))?\s*(?:\s#.*)?")
_ITEM = re.compile(r"\s*-\s+([^\s#]\S*)\s*(?:\s#.*)?")
_FLAGS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


def acro_policy(text: str, source: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document of a policy, and sentences on what of the file does not apply to trees.

    Raises
    ------
    InvalidInput
        Naming every line that is no ``key: value``, every unknown key and unsuitable value, with its line.
    """
    problems: list[Problem] = []
    stated: dict[str, Any] = {}
    listed: list[str] | None = None  # the items of the key above, while there are any
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() in ("---", "..."):
            continue
        where = f"line {number}"
        if listed is not None and (item := _ITEM.fullmatch(line)) is not None:
            listed.append(item[1].strip("'\""))
            continue
        listed = None
        found = _LINE.fullmatch(line)
        if found is None:
            problems.append(Problem(where, "content", "a key, a colon and a value, as ACRO's default.yaml has", "text"))
            continue
        key, word = found.groups()
        if key not in KEYS:
            expected = f"one of {', '.join(KEYS)}"
            problems.append(Problem(where, key, expected, f"an unknown key{close_to(key, KEYS)}"))
        elif key in stated:
            problems.append(Problem(where, key, "each key once", f"{key} again"))
        elif KEYS[key] == _WORDS and word is None:
            listed = stated[key] = []
        elif word is None or (value := _value(word, KEYS[key])) is None:
            problems.append(Problem(where, key, KEYS[key], "nothing" if word is None else shorten(word)))
        else:
            stated[key] = value
    problems += [
        Problem("file", one, "both safe_nk_n and safe_nk_k, or neither", "nothing")
        for one, other in (("safe_nk_n", "safe_nk_k"), ("safe_nk_k", "safe_nk_n"))
        if other in stated and one not in stated
    ]
    if not stated and not problems:
        problems.append(Problem("file", "content", f"keys of ACRO ({', '.join(KEYS)})", "none of them"))
    if problems:
        raise InvalidInput(source, problems)
    about = {
        "name": "ACRO",
        "source": f"{os.path.basename(source)}, in the form of default.yaml of github.com/AI-SDC/ACRO",
    }
    return {**about, "limits": _limits(stated)}, tuple(_left_out(stated))


def _value(word: str, expected: str) -> Any:
    """The value of a word, None where it does not fit."""
    if expected == _FLAG:
        return _FLAGS.get(word.lower())
    if expected == _WORDS:
        return [] if word == "[]" else None
    try:
        number = float(word)
    except ValueError:
        return None
    if expected == _SHARE:
        return number if 0 <= number <= 1 else None
    return int(number) if number.is_integer() and 1 <= number < 2**53 else None


def _limits(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of checks, by their keys."""
    limits: dict[str, Any] = {}
    if "safe_threshold" in stated:
        limits |= {"min_leaf": stated["safe_threshold"], "min_cell": stated["safe_threshold"]}
    if stated.get("zeros_are_disclosive"):
        limits["max_zeros"] = 0
    if "safe_nk_n" in stated:
        limits["nk_dominance"] = {"n": stated["safe_nk_n"], "k": stated["safe_nk_k"]}
    if "safe_pratio_p" in stated:
        limits["p_ratio"] = stated["safe_pratio_p"]
    if "safe_dof_threshold" in stated:
        limits["min_dof"] = stated["safe_dof_threshold"]
    if stated.get("blocked_extensions"):
        limits["blocked_extensions"] = stated["blocked_extensions"]
    return limits


def _left_out(stated: Mapping[str, Any]) -> list[str]:
    """What of a file is not about trees."""
    return [f"{key} does not apply: it is about {about}" for key, about in NOT_ABOUT_TREES.items() if key in stated]
