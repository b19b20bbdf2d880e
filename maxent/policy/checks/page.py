"""The page docs/checks.md, which is made of the registry: ``python -m maxent.policy.checks.page`` writes it anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maxent.policy.checks.context import PolicyCheck
from maxent.policy.checks.registry import CHECKS, FAMILIES

PAGE = Path(__file__).parents[3] / "docs" / "checks.md"

_BEGIN = """# Checks

Every check that a [policy](policies.md) can ask for, by its id. A policy states the limit in its table `[limits]`, by
the key of the check, and switches a check off in its table `[off]`, by its id, with a reason, which the record keeps.
`maxent check --list` has all of them, `maxent check --explain MX101` one.

A check passes only if the limit is kept for sure, fails only if it is exceeded for sure, and cannot be told otherwise.
MX501 is part of every policy; neither it nor MX401 can be switched off. Where no check 1xx, 2xx or 3xx but MX120
counts, nothing is judged about the people, and the verdict is CANNOT TELL. *Statbarn* is the class of outputs that a
check belongs to in the ontology of ACRO.
"""


def explained(check: PolicyCheck) -> dict[str, Any]:
    """Everything about a check, by name."""
    return {
        "id": check.id,
        "key": check.key,
        "title": check.title,
        "limit": check.limit.expected,
        "example": f"{check.key} = {as_toml(check.limit.example)}",
        "what": check.what,
        "why": check.why,
        "source": check.source,
        "fix": check.fix,
        "statbarn": check.statbarn_uri,
    }


def listed_checks() -> Iterator[tuple[str, str, str]]:
    """Id, key and title of every check."""
    return ((check.id, check.key, check.title) for check in CHECKS.values())


def page() -> str:
    """The page."""
    parts = [_BEGIN]
    for digit, (about, checks) in FAMILIES.items():
        parts.append(f"## {digit}xx: {about}\n")
        parts += [_section(check) for check in checks]
    return "\n".join(parts)


def as_toml(value: Any) -> str:
    """A limit as a policy states it."""
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {as_toml(each)}" for key, each in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value)


def _section(check: PolicyCheck) -> str:
    told = explained(check)
    return f"""### {check.id}: {check.title}

`{told["example"]}` ({told["limit"]})

- What: {check.what}
- Why: {check.why}
- Source: {check.source}
- How to fix: {check.fix}
- Statbarn: {told["statbarn"]}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
