"""Policies: read from TOML, from ACRO's YAML or by name, checked, and compared with the policy they extend."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from maxent.constraints.kinds.context import Noise
from maxent.constraints.kinds.registry import knowledge
from maxent.disclosure.ladder import ADVERSARIES, MEMBER, REGISTERED, about, keys_of, named_limits
from maxent.disclosure.limits import ADVERSARY, NO_DRAWS, NO_DRAWS_ID, Limits
from maxent.models.arguments import shorten
from maxent.models.display import counted
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.input_files import read_input
from maxent.models.files.json_files import unusable_file
from maxent.models.files.toml import Table, are_texts, is_text, is_whole, line_numbers, toml_document
from maxent.models.hints import close_to
from maxent.models.reading import size_text
from maxent.models.release import Impurity
from maxent.models.trees.printed_rates import ROUNDINGS
from maxent.policy.checks.model_files import EXPORTS
from maxent.policy.checks.page import as_toml
from maxent.policy.checks.registry import BY_KEY, CHECKS
from maxent.policy.checks.reliability import CERTIFICATES
from maxent.solvers.certainty.levels import level_names

# The configuration of ACRO (``default.yaml``) as a policy: what of it is about trees, and what is not.
#
# Source: github.com/AI-SDC/ACRO, ``acro/default.yaml``. The file is a flat YAML mapping of numbers, booleans and
# a list of words, and is read as such: nothing else of YAML is understood, and nothing else is taken for one.

SUFFIXES = (".yaml", ".yml")
_THRESHOLD = "a whole number of at least 1"
_SHARE = "a share from 0 to 1"
_FLAG = "True or False"
_WORDS = "a list of extensions, each in a line that begins with a dash"

# Key -> what its value has to be.
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

# Key -> what it is about, in place of trees.
NOT_ABOUT_TREES: Mapping[str, str] = {
    "check_missing_values": "missing values of a variable that is aggregated: leaves have none",
    "survival_safe_threshold": "survival tables and plots: a tree has none",
    "safe_round_base": "rounding of tables as a mitigation: counts of a release are taken as they are",
    "federated": "where ACRO runs its checks",
}

_LINE = re.compile(r"([A-Za-z_]\w*)\s*:(?:\s+([^\s#]\S*))?\s*(?:\s#.*)?")
_ITEM = re.compile(r"\s*-\s+([^\s#]\S*)\s*(?:\s#.*)?")
_FLAGS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


def acro_policy(text: str, source: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document of a policy, and sentences on what of the file does not apply to trees."""
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
    return {**about, "limits": _acro_limits(stated)}, tuple(_left_out(stated))


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


def _acro_limits(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of checks, by their keys."""
    limits: dict[str, Any] = {}
    if "safe_threshold" in stated:
        limits |= dict.fromkeys(("min_leaf", "min_cell", "min_stated_cell"), stated["safe_threshold"])
    if stated.get("zeros_are_disclosive"):
        limits |= {"max_zeros": 0, "max_stated_zeros": 0}
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


# What a policy changes of the one that it extends, in words: which limits it relaxes, tightens and adds.

# Tables that are neither limits nor what is off.
BESIDE = ("roles", "sensitive", "adversary", "rules")


def _flat(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Limits by the keys of checks, after the name of another adversary and a dot where it is about that."""
    named = {name: limits[name] for name in ADVERSARIES if name in limits}
    own = {key: limit for key, limit in limits.items() if key in BY_KEY}
    return own | {f"{name}.{key}": limit for name, of_it in named.items() for key, limit in of_it.items()}


def _merged(before: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Limits with others in their place, those of each adversary by themselves."""
    both = {str(name): {**before.get(name, {}), **own[name]} for name in ADVERSARIES if name in own}
    return {**before, **own, **both}


def looser(key: str, old: Any, new: Any) -> bool:
    """Whether a limit allows something that another limit of the same check does not."""
    key = key.rpartition(".")[2]
    match key:
        case "may_state":
            return not set(new) <= set(old)
        case "blocked_extensions" | "required_measures":
            return not {each.lower() for each in new} >= {each.lower() for each in old}
        case "exports":
            return EXPORTS.index(new) < EXPORTS.index(old)
        case "certificate":
            return CERTIFICATES.index(new) < CERTIFICATES.index(old)
        case "nk_dominance":
            return bool(new["n"] < old["n"] or new["k"] > old["k"])
    more_is_stricter = key.startswith("min_") or key == "p_ratio"
    return bool(new < old if more_is_stricter else new > old)


def changes(base: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """What the content of a policy changes of another one's, in words; empty for nothing."""
    before, off = _flat(base.get("limits", {})), base.get("off", {})
    stated = {key: limit for key, limit in _flat(own.get("limits", {})).items() if key not in ALWAYS}
    differ = {key: limit for key, limit in stated.items() if key in before and limit != before[key]}
    loose = [key for key, limit in differ.items() if looser(key, before[key], limit)]
    was = {key: f"{key} {as_toml(limit)} (was {as_toml(before[key])})" for key, limit in differ.items()}
    told = [
        ("relaxed", [*(was[key] for key in loose), *(f"{id_} off" for id_ in own.get("off", {}) if id_ not in off)]),
        ("tightened", [text for key, text in was.items() if key not in loose]),
        ("added", [f"{key} {as_toml(limit)}" for key, limit in stated.items() if key not in before]),
    ]
    parts = [f"{counted(len(each), 'limit')} {word}: {', '.join(each)}" for word, each in told if each]
    beside = [name for name in BESIDE if not own.get(name, {}).items() <= base.get(name, {}).items()]
    return "; ".join([*parts, *[f"also changed: {', '.join(beside)}"] * bool(beside)])


def own_name(name: str, base: Mapping[str, Any], changed: str) -> str:
    """The name of a policy that extends another one: its own, what it extends, and what it changes of that."""
    below, version = str(base.get("name") or "a policy"), str(base.get("version", ""))
    if version:
        below += f" {version}" if version[:1].isdigit() else f" ({version})"
    below = f"({below})" if ", extends " in below else below
    return f"{name or 'own policy'}, extends {below}; {changed or 'nothing changed'}"


# Bytes of a policy file.
MOST_BYTES = 1_000_000
# Policies that extend each other.
DEEPEST = 5
# Keys of the table ``[rules]``: what SATRE 3.3.09 wants in a record beside thresholds, in words.
RULES = ("suppression", "perturbation", "model_requirements", "risk_appetite")

# Limits that every policy has: what is not to be relied on keeps no limit, and draws break any.
ALWAYS: Mapping[str, Any] = {NO_DRAWS: True, "reliable": True}

# Ids of checks that cannot be switched off: every other finding rests on them.
NEVER_OFF = ("MX401", NO_DRAWS_ID, "MX501")
NEVER = f"{', '.join(NEVER_OFF[:-1])} and {NEVER_OFF[-1]}"
# How the one of these that can be taken back is taken back.
TAKEN_BACK = 'rows = "unknown" and rows_reason = "why" in [adversary], which take it back, as it is never off'
_TOP = ("name", "version", "source", "about")
_TABLES = ("limits", "off", "roles", "sensitive", "adversary", "rules")


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A file of a policy: its name, and the SHA-256 of its bytes."""

    name: str
    sha256: str
    path: str | None = None


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy: limits by the keys of checks, checks that are off with the reason, and what the adversary is."""

    content: Mapping[str, Any]
    files: tuple[PolicyFile, ...] = ()
    left_out: tuple[str, ...] = ()
    folder: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.content.get("name", ""))

    @property
    def described(self) -> str:
        """What it is called, its version and its source: what it relaxes stands in its name."""
        version, source = (str(self.content.get(key, "")) for key in ("version", "source"))
        beside = [f"version {version}"] * bool(version) + [f"source: {source}"] * bool(source)
        return "; ".join([self.name or "without a name", *beside])

    @property
    def limits(self) -> Mapping[str, Any]:
        """Key of a check -> limit, in the order of the registry; those of `ALWAYS` are stated or not."""
        stated = {**self.content.get("limits", {}), **ALWAYS}
        return {key: stated[key] for key in BY_KEY if key in stated}

    @property
    def named(self) -> dict[str, Limits]:
        """Limits on other adversaries than the one with the table, by their names."""
        return named_limits(self.content.get("limits", {}))

    @property
    def thresholds(self) -> dict[str, Any]:
        """All limits, as a record has them: those on another adversary by its name."""
        named: dict[str, Any] = {name: limits.as_dict() for name, limits in self.named.items()}
        return {**self.limits, **named}

    @property
    def limited(self) -> bool:
        """Whether it has limits of its own."""
        return bool(self.content.get("limits"))

    @property
    def off(self) -> Mapping[str, str]:
        """Id of a check that is off -> the reason."""
        return dict(self.content.get("off", {}))

    @property
    def never_passes(self) -> str:
        """Why no release can pass, whatever it is, and what to add so that one can; empty where one can."""
        exports = self.limits.get("exports", "allowed")
        if exports == "allowed" or "MX404" in self.off:
            return ""
        why = "fails" if exports == "refused" else "cannot be told"
        return (
            f'no model can pass this policy: exports = "{exports}" (MX404) {why}, whatever the model is; to add, in a '
            'policy that extends it: exports = "allowed" in [limits], or MX404 with the reason in [off]'
        )

    @property
    def roles(self) -> dict[str, str]:
        """Attribute -> ``public`` or ``private``."""
        return {name: role for role, names in self.content.get("roles", {}).items() for name in names}

    @property
    def public(self) -> list[str] | None:
        """The quasi-identifiers; None where the policy names none."""
        found = self.content.get("roles", {}).get("public")
        return None if found is None else list(found)

    @property
    def sensitive(self) -> list[str] | None:
        """The sensitive classes; None for all of them."""
        found = self.content.get("sensitive", {}).get("classes")
        return None if found is None else list(found)

    @property
    def adversary(self) -> Mapping[str, Any]:
        """What the adversary knows and does."""
        return dict(self.content.get("adversary", {}))

    @property
    def proof(self) -> str | None:
        """The level of proof that its checks need; None for none."""
        return str(self.adversary.get("proof", "auto")) if "max_certain_proved" in self.limits else None

    @property
    def rows_unknown(self) -> str:
        """Why nobody knows the order of the rows of the training data; empty where somebody may."""
        return str(self.adversary.get("rows_reason", ""))

    def rule(self, key: str) -> str:
        """What it says in words about one of `RULES`; empty for nothing."""
        return str(self.content.get("rules", {}).get(key, ""))

    def file_of(self, key: str) -> str | None:
        """The path of a file that the adversary has: from the folder of the policy."""
        name = self.adversary.get(key)
        return None if name is None or name is False else os.path.join(self.folder, name)

    @property
    def sha256(self) -> str:
        """The SHA-256 of `content`, as JSON with sorted keys and no blanks."""
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def with_limits(self, limits: Mapping[str, Any]) -> Policy:
        """The same with further limits, in the place of its own; where these change it, it is another policy."""
        changed = changes(self.content, {"limits": limits})
        if not changed:
            return self
        content = {**self.content, "limits": _merged(self.content.get("limits", {}), limits)}
        if self.limited:
            content = _renamed(content, {}, self.content, changed)
        return Policy(content, self.files, self.left_out, self.folder)


def presets() -> dict[str, str]:
    """Name of every policy that is shipped -> its text."""
    folder = files("maxent.policy") / "presets"
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".toml")), key=lambda each: each.name)
    return {each.name.removesuffix(".toml"): each.read_text(encoding="utf-8") for each in found}


def read_policy(given: str | PathLike[str] | Mapping[str, Any] | None) -> Policy:
    """Read a policy: TOML, ACRO's YAML, the name of a shipped one, or what such a file says; None has no limits."""
    if given is None:
        return Policy({"name": "limits of the call"})
    if isinstance(given, Mapping):
        return _checked(_whole(dict(given), "policy", "", None, {}, 1), "policy")
    if not isinstance(given, (str, PathLike)):
        expected = "the path of a policy, or the name of one that is shipped"
        raise invalid("options", ARGUMENT, "policy", expected, shorten(given))
    return _checked(_read(os.fspath(given), 1), os.fspath(given))


def _read(path: str, depth: int, base: str = "") -> Policy:
    """A policy by its name or path, with those that it extends."""
    shipped = presets()
    if path in shipped:
        source, text, name, folder = f"policy {path}", shipped[path], path, ""
        file = PolicyFile(name, hashlib.sha256(text.encode()).hexdigest())
    else:
        full = os.path.join(base, path)
        content = _bytes(full, shipped)
        source, folder = full, str(Path(full).parent)
        file = PolicyFile(os.path.basename(full), hashlib.sha256(content).hexdigest(), full)
        try:
            text = content.decode("utf-8-sig")
        except ValueError:
            raise invalid(source, "file", "content", "text in UTF-8", "bytes that are not UTF-8") from None
    if path.lower().endswith(SUFFIXES):
        document, left_out = acro_policy(text, source)
        return Policy(document, (file,), left_out, folder)
    return _whole(toml_document(text, source), source, folder, file, line_numbers(text), depth)


def _whole(
    document: dict[str, Any],
    source: str,
    folder: str,
    file: PolicyFile | None,
    lines: Mapping[tuple[str, ...], int],
    depth: int,
) -> Policy:
    """What a document says, with what it extends."""
    content = _named_apart(_document(document, source, lines))
    below = document.get("extends")
    own = Policy(content, () if file is None else (file,), (), folder)
    if below is None:
        return own
    if depth == DEEPEST:
        raise invalid(source, "file", "extends", f"at most {DEEPEST} policies that extend each other", "more")
    return _extended(_read(below, depth + 1, folder), own)


def _named_apart(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a policy: told apart where it has the name of one that is shipped, and is not that one."""

    def plain(name: object) -> str:
        return "".join(letter for letter in str(name).casefold() if letter.isalnum())

    for given, text in presets().items():
        shipped = _document(toml_document(text, given), given, line_numbers(text))
        name = shipped["name"]
        taken = {plain(given), plain(name), plain(f"{name}{shipped['version']}")}
        if content != shipped and plain(content.get("name", "")) in taken:
            return {**content, "name": f'own policy, named "{content["name"]}"'}
    return content


def _bytes(path: str, shipped: Mapping[str, str]) -> bytes:
    """The content of a file."""
    known = f"a policy file, or one of {', '.join(shipped)}"
    try:
        content = read_input(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        refusal = unusable_file(path, known, error)
        hint = close_to(path, shipped)
        if hint and refusal.problems:
            first = refusal.problems[0]
            raise invalid(path, first.where, first.field, first.expected, f"{first.found}{hint}") from None
        raise refusal from None
    if content is None:
        raise invalid(path, "file", "size", f"at most {size_text(MOST_BYTES)}", "a larger one")
    return content


def _extended(base: Policy, own: Policy) -> Policy:
    """A policy with what another one adds to it, or states in its place."""
    content: dict[str, Any] = {**base.content, **own.content}
    for table in _TABLES:
        both = base.content.get(table, {}), own.content.get(table, {})
        merged = _merged(*both) if table == "limits" else {**both[0], **both[1]}
        if merged:
            content[table] = merged
    for key in ("facts", "marginal"):  # names in a policy are from its own folder
        if base.file_of(key) is not None and key not in own.adversary:
            content["adversary"][key] = os.path.relpath(str(base.file_of(key)), own.folder or ".")
    if own.content:
        content = _renamed(content, own.content, base.content, changes(base.content, own.content))
    return Policy(content, (*base.files, *own.files), base.left_out, own.folder)


def _renamed(
    content: Mapping[str, Any], own: Mapping[str, Any], base: Mapping[str, Any], changed: str
) -> dict[str, Any]:
    """The content of a policy that extends another, under a name of its own, without what the other says of itself."""
    kept = {key: value for key, value in content.items() if key not in _TOP or key in own}
    return {**kept, "name": own_name(str(own.get("name", "")), base, changed)}


def _checked(policy: Policy, source: str) -> Policy:
    """A policy whose switched-off checks are its own."""
    stated = policy.content.get("limits", {})
    limited = [BY_KEY[key].id for key in (*stated, *[MEMBER] * (MEMBER in stated.get(REGISTERED, {}))) if key in BY_KEY]
    problems = [
        Problem("[off]", id_, f"a check that the policy has a limit for ({', '.join(limited) or 'none'})", "another")
        for id_ in policy.off
        if id_ not in limited
    ]
    if problems:
        raise InvalidInput(source, problems)
    return policy


def _document(document: dict[str, Any], source: str, lines: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    """What one document says, without what it extends."""
    problems: list[Problem] = []
    top = Table(document, (), lines, problems)
    content: dict[str, Any] = {}
    for key in _TOP:
        content[key] = top.take(key, "a text", is_text)
    top.take("extends", "the name of a policy, or its file", is_text)
    taken = {
        "limits": _limits(top.table("limits")),
        "off": _off(top.table("off")),
        "roles": _roles(top.table("roles")),
        "sensitive": _closed(top.table("sensitive"), {"classes": ("a list of classes", are_texts)}),
        "adversary": _adversary(top.table("adversary")),
        "rules": _closed(top.table("rules"), dict.fromkeys(RULES, ("a text", is_text))),
    }
    top.close()
    if problems:
        raise InvalidInput(source, dict.fromkeys(problems))
    content |= {name: table for name, table in taken.items() if table}
    return {key: value for key, value in content.items() if value is not None}


def _limits(table: Table) -> dict[str, Any]:
    """The limits, by the keys of checks."""
    found = {}
    for key, check in BY_KEY.items():
        if key in table.content:
            found[key] = table.take(key, f"{check.limit.expected} ({check.id})", check.limit.fits)
    for name in ADVERSARIES:
        if name in table.content:
            found |= _named(table, name)
    for key, limit in found.pop(ADVERSARY, {}).items():
        if key in found:
            table.note(key, f"one of them, as [limits] is about the adversary {ADVERSARY}", f"one in {ADVERSARY}, too")
        found[key] = limit
    for key in table.content:
        if key not in (*BY_KEY, *ADVERSARIES) and isinstance(table.content[key], Mapping):
            known = ", ".join(ADVERSARIES)
            table.note(key, f"the name of an adversary ({known})", f"an unknown one{close_to(key, ADVERSARIES)}")
        elif key not in (*BY_KEY, *ADVERSARIES):
            hint = f": the limit of {key} is {CHECKS[key].key}" if key in CHECKS else close_to(key, BY_KEY)
            table.note(key, "the key of a check (maxent check --list)", f"an unknown key{hint}")
    if MEMBER in found and MEMBER in found.get(REGISTERED, {}):
        table.note(MEMBER, f"one of them, as it is about the adversary {REGISTERED}", f"one in {REGISTERED}, too")
    return about(ADVERSARY, found)


def _named(table: Table, name: str) -> dict[str, Any]:
    """The limits on another adversary, by its name; nothing where there are none."""
    own = table.table(name)
    rules = {key: (f"{BY_KEY[key].limit.expected} ({BY_KEY[key].id})", BY_KEY[key].limit.fits) for key in keys_of(name)}
    found = _closed(own, rules)
    return {name: found} if found else {}


def _off(table: Table) -> dict[str, str]:
    """The checks that are off, each with its reason."""
    found = {}
    for id_ in table.content:
        if id_ == NO_DRAWS_ID:
            table.note(id_, TAKEN_BACK, "a check that cannot be switched off")
        elif id_ in NEVER_OFF:
            table.note(
                id_,
                f"a check that can be switched off (all but {NEVER})",
                "one that cannot",
            )
        elif id_ in CHECKS:
            found[id_] = table.take(id_, "the reason, a text", lambda v: isinstance(v, str) and bool(v.strip()))
        else:
            hint = f": {id_} has the id {BY_KEY[id_].id}" if id_ in BY_KEY else close_to(id_, CHECKS)
            table.note(id_, "the id of a check (maxent check --list)", f"an unknown id{hint}")
    return found


def _roles(table: Table) -> dict[str, list[str]]:
    """Public and private attributes, no name twice."""
    found = _closed(table, dict.fromkeys(("public", "private"), ("a list of columns", are_texts)))
    if both := set(found.get("public", ())) & set(found.get("private", ())):
        table.note("private", "other columns than public", shorten(min(both)))
    return found


def _adversary(table: Table) -> dict[str, Any]:
    """What the adversary knows and does; that rows are unknown has a reason, and no reason stands alone."""
    found = _closed(table, _ADVERSARY)
    both = {key: key in table.content for key in ("rows", "rows_reason")}
    for key, other in (("rows", "rows_reason"), ("rows_reason", "rows")):
        if both[key] and not both[other]:
            expected = "the reason, a text" if other == "rows_reason" else f'"unknown", beside {key}'
            table.note(other, expected, "nothing")
    if both["rows_reason"] and isinstance(found.get("rows_reason"), str) and not found["rows_reason"].strip():
        table.note("rows_reason", "the reason, a text", "blanks")
    return found


def _closed(table: Table, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The values of some keys; other keys are noted."""
    found = {key: table.take(key, *rule) for key, rule in keys.items()}
    table.close()
    return {key: value for key, value in found.items() if value is not None}


def _one_of(names: tuple[str, ...]) -> tuple[str, Any]:
    return f"one of {', '.join(names)}", lambda value: value in names


_KINDS = tuple(knowledge())
# Keys of the table ``[adversary]``: what is expected, and whether a value is that.
_ADVERSARY: Mapping[str, Any] = {
    "knowledge": (
        f"a list of kinds of statements ({', '.join(_KINDS)})",
        lambda v: are_texts(v) and bool(v) and all(each in _KINDS for each in v),
    ),
    "impurity": _one_of(get_args(Impurity)),
    "rounding": _one_of(tuple(ROUNDINGS)),
    "confidence": ("a probability above 0 and below 1", lambda v: isinstance(v, float) and 0 < v < 1),
    "noise": _one_of(get_args(Noise)),
    "facts": ("the name of a file", is_text),
    "marginal": ("the name of a file, or false", lambda v: v is False or is_text(v)),
    "background": ("a number of members of at least 0", lambda v: is_whole(v) and 0 <= v < 2**31),
    "proof": _one_of((*level_names(), "auto")),
    "rows": ('"unknown", or nothing', lambda v: v == "unknown"),
    "rows_reason": ("why nobody knows the order of the rows of the training data, a text", is_text),
}
