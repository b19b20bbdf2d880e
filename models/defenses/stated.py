"""Facts that a release's defense states to an adversary who knows the method; nobody else asks for its name."""

from __future__ import annotations

from maxent.models.defenses.method import Stated
from maxent.models.defenses.registry import load_method, method_names
from maxent.models.errors import MissingExtra
from maxent.models.release import Release


def stated(release: Release) -> Stated:
    """The facts that the defense of a release states; none without a defense, or of a method that is not known."""
    if release.defense is None or release.defense.method not in method_names():
        return Stated()
    try:
        method = load_method(release.defense.method)
    except MissingExtra:
        return Stated()
    return method.states(release)
