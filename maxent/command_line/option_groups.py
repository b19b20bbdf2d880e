"""Options that several commands have, stated once as the parameters of a function, and given to a command together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from maxent.command_line.progress import Job


def takes(
    *, without: Collection[str] = (), **groups: Callable[..., Any]
) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Give a command the options of functions, each in the place of the command's parameter of its name.

    The command gets what the functions return. Options ``without`` are left out, and have their defaults.
    """
    options = {
        name: [each for each in inspect.signature(group, eval_str=True).parameters.values() if each.name not in without]
        for name, group in groups.items()
    }

    def decorated(command: Callable[..., Job]) -> Callable[..., Job]:
        @wraps(command)
        def called(*arguments: Any, **values: Any) -> Job:
            for name, group in groups.items():
                values[name] = group(**{each.name: values.pop(each.name, each.default) for each in options[name]})
            return command(*arguments, **values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        merged = [each for one in own for each in options.get(one.name, [one])]
        called.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in merged}
        return called

    return decorated
