"""``maxent backends``: a list of the solver back ends."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from maxent.command_line import options as opt
from maxent.command_line.progress import DONE, Job
from maxent.results.text.terminal import print_backends, print_json

# Calls that its help ends with.
EXAMPLES = ("maxent backends", "maxent backends --json")


def command(as_json: opt.Json = False) -> Job:
    """List the solver back ends: which are installed, their versions, and what each can solve."""
    return partial(_run, as_json)


def _run(as_json: bool) -> int:
    from maxent.solvers.backends.registry import describe_backends

    described = describe_backends()
    if as_json:
        print_json({"backends": [asdict(found) for found in described]})
    else:
        print_backends(described)
    return DONE
