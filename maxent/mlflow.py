"""Reviews in MLflow: numbers, verdict, report, record and card of a model, in its run (extra ``mlflow``)."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxent import __version__
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.packages import need

if TYPE_CHECKING:
    from maxent.policy.checked import Checked
    from maxent.results.review import Review

# What names of metrics and tags begin with.
PREFIX = "maxent."
# Characters of a tag that MLflow takes.
LONGEST = 5_000


@dataclass(frozen=True, slots=True)
class Logged:
    """What was logged: the run, metrics, tags, and the paths of the artifacts in it."""

    run_id: str
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    artifacts: tuple[str, ...]


def log_review(result: Review | Checked, *, run_id: str | None = None, artifact_path: str = "maxent") -> Logged:
    """Log a review, or a check against a policy, to a run of MLflow.

    A registry can then ask for the tag ``maxent.verdict`` before it takes a model: ``pass``, ``fail``,
    ``cannot_tell`` or ``not stated`` (no limits), or ``unreliable`` where nothing is to be relied on.

    ``result``: of `maxent.review` or `maxent.check`. ``run_id``: the run; by default the active one, and where there is
    none a new one, which is ended. ``artifact_path``: the folder of the artifacts: ``summary.json``; ``report.html``
    where there is an estimate; of a check of files ``record.json`` and ``model_card.md``. Raises `MissingExtra` without
    MLflow.
    """
    from maxent.policy.checked import Checked
    from maxent.results.review import Review

    if not isinstance(result, (Review, Checked)):
        expected = "what maxent.review or maxent.check returned"
        raise invalid("log_review", ARGUMENT, "result", expected, type(result).__name__)
    need("mlflow", "logging to MLflow needs it")
    import mlflow

    review = result.review if isinstance(result, Checked) else result
    metrics, tags = _metrics(review.row), _tags(result, review)
    with tempfile.TemporaryDirectory(prefix="maxent-") as folder:
        _write(result, review, folder)
        active = mlflow.active_run()
        logged = run_id if run_id is not None or active is None else str(active.info.run_id)
        if logged is None:
            with mlflow.start_run(run_name=f"maxent {review.name}") as run:
                logged = str(run.info.run_id)
                _log(logged, metrics, tags, folder, artifact_path)
        else:
            _log(logged, metrics, tags, folder, artifact_path)
        names = sorted(os.listdir(folder))
    return Logged(logged, metrics, tags, tuple(f"{artifact_path}/{name}" for name in names))


def _log(run_id: str, metrics: Mapping[str, float], tags: Mapping[str, str], folder: str, place: str) -> None:
    from mlflow import MlflowClient

    client = MlflowClient()
    for name, value in metrics.items():
        client.log_metric(run_id, name, value)
    client.log_artifacts(run_id, folder, place)
    for name, text in tags.items():  # last: who sees the verdict has all that it rests on
        client.set_tag(run_id, name, text)


def _metrics(row: Mapping[str, Any]) -> dict[str, float]:
    """The finite numbers of a review, as comparisons have them."""
    numbers = {name: value for name, value in row.items() if isinstance(value, (int, float)) and value is not True}
    return {PREFIX + name: float(value) for name, value in numbers.items() if math.isfinite(value)}


def _tags(result: Review | Checked, review: Review) -> dict[str, str]:
    from maxent.policy.checked import Checked

    status = result.status if isinstance(result, Checked) else review.verdict().status
    told = {
        "verdict": status if review.reliable else "unreliable",
        "release": review.name,
        "target": review.release.target.name,
        "version": __version__,
    }
    if isinstance(result, Checked):
        told |= {"policy": result.policy.name, "policy.sha256": result.policy.sha256}
        told |= {row.check.id: "off" if row.off else row.status for row in result.rows}
    if review.trouble:
        told["trouble"] = review.trouble
    return {PREFIX + name: text[:LONGEST] for name, text in told.items()}


def _write(result: Review | Checked, review: Review, folder: str) -> None:
    """The artifacts."""
    from maxent.models.files.json_files import as_json_text
    from maxent.models.files.output import write_text
    from maxent.policy.checked import Checked
    from maxent.policy.model_card import model_card

    write_text(os.path.join(folder, "summary.json"), as_json_text(result.summary) + "\n")
    if review.estimate is not None:
        review.report(os.path.join(folder, "report.html"))
    if isinstance(result, Checked) and result.of_files:
        record = result.record()
        write_text(os.path.join(folder, "record.json"), as_json_text(record) + "\n")
        write_text(os.path.join(folder, "model_card.md"), model_card(record))
