"""What a policy changes of the one that it extends, in words: which limits it relaxes, tightens and adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxent.models.text.display import counted
from maxent.policy.checks.model_files import EXPORTS
from maxent.policy.checks.page import as_toml
from maxent.policy.checks.registry import BY_KEY
from maxent.policy.checks.reliability import CERTIFICATES

BESIDE = ("roles", "sensitive", "adversary", "rules")
"""Tables that are neither limits nor what is off."""


def looser(key: str, old: Any, new: Any) -> bool:
    """Whether a limit allows something that another limit of the same check does not."""
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
    before, off = base.get("limits", {}), base.get("off", {})
    stated = {key: limit for key, limit in own.get("limits", {}).items() if key in BY_KEY and key != "reliable"}
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
