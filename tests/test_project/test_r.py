"""The functions for R: each model is written, read by the command, and judged. What R lacks is skipped by name."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RSCRIPT = shutil.which("Rscript")
COMMAND = Path(sys.executable).with_name("maxent")
MODELS = {
    "rpart": "rpart(formula, men, method = 'class')",
    "rpart without gaps": "rpart(formula, full, method = 'class')",
    "partykit": "partykit::ctree(formula, full)",
    "partykit of rpart": "partykit::as.party(rpart(formula, full, method = 'class'))",
    "ranger": "ranger::ranger(formula, full, num.trees = 4, max.depth = 2, seed = 1)",
    "ranger with draws": "ranger::ranger(formula, full, num.trees = 4, seed = 1, keep.inbag = TRUE)",
    "randomForest": "randomForest::randomForest(formula, full, ntree = 4, maxnodes = 4)",
    "gbm": "gbm::gbm(update(formula, as.integer(outcome) - 1L ~ .), data = full, distribution = 'bernoulli', "
    "n.trees = 3, bag.fraction = 1)",
    "glm": "glm(outcome ~ age + grade + ploidy, binomial, full)",
}
PEOPLE = """
library(rpart)
men <- transform(stagec, outcome = factor(pgstat, levels = 0:1, labels = c("stable", "progressed")))
formula <- outcome ~ age + eet + g2 + grade + gleason + ploidy
full <- na.omit(men[all.vars(formula)])
"""


@cache
def installed() -> frozenset[str]:
    """The packages that R has."""
    call = [str(RSCRIPT), "-e", "writeLines(rownames(installed.packages()))"]
    return frozenset(subprocess.run(call, capture_output=True, check=True, encoding="utf-8").stdout.split())


def run(code: str, *packages: str) -> str:
    """What R prints of some code; the test is skipped where R or a package is missing."""
    if RSCRIPT is None:
        pytest.skip("R is not installed: no Rscript on the path")
    if lacking := {"jsonlite", "rpart", *packages} - installed():
        pytest.skip(f"R has no package {', '.join(sorted(lacking))}")
    begin = f"source('{ROOT.as_posix()}/examples/r/maxent.R')\noptions(maxent.command = '{COMMAND.as_posix()}')"
    done = subprocess.run([RSCRIPT, "-e", f"{begin}\n{code}"], capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_r_is_judged_in_one_call(name: str) -> None:
    package = MODELS[name].partition("::")[0] if "::" in MODELS[name] else "rpart"
    data = "men" if name == "rpart" else "full"
    printed = run(
        f"""{PEOPLE}
set.seed(1)
found <- maxent_review({MODELS[name]}, {data}, "outcome", c("age", "grade", "ploidy"), list(max_certain = 0),
    c("--time-limit", "10"))
cat(jsonlite::toJSON(list(status = found$status, checks = found$verdict$key, people = sum(found$people$count),
    columns = names(found$people)), auto_unbox = TRUE))""",
        package,
    )
    found = json.loads(printed.splitlines()[-1])
    # Whole covariates: five sums of 134 people settle nobody, which a busy machine does not prove in the time limit.
    expected = {"glm": ("pass", "cannot_tell"), "ranger with draws": ("fail",)}.get(name, ("cannot_tell",))
    assert found["status"] in expected
    assert found["checks"] == ["max_certain", "no_draws"]
    assert found["people"] == (146 if name == "rpart" else 134)
    assert {"age", "grade", "ploidy", "P(stable)", "P(progressed)"} <= {*found["columns"]}


def test_levels_are_those_of_r_not_sorted_ones(tmp_path: Path) -> None:
    run(f"{PEOPLE}\nmaxent_export(rpart(formula, men, method = 'class'), '{tmp_path.as_posix()}/out')")
    convert = [COMMAND, "convert", tmp_path / "out", "--target", "outcome", "-o", tmp_path / "tree.json"]
    subprocess.run([*convert, "--classes", "stable,progressed"], check=True, capture_output=True)
    release = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))
    values = {a["name"]: a.get("values") for a in release["attributes"]}
    assert values["ploidy"][:3] == ["diploid", "tetraploid", "aneuploid"]


def test_a_tree_of_c50_that_was_recorded_is_exported(tmp_path: Path) -> None:
    data = os.environ.get("MAXENT_DATA")
    if not data:
        pytest.skip("MAXENT_DATA does not name the folder of data sets")
    recorded = Path(data) / "models" / "c50_contraceptive"
    said = json.loads((recorded / "meta.json").read_text(encoding="utf-8"))
    printed = run(
        f"""
text <- function(file) paste(readLines(file.path("{recorded.as_posix()}", file)), collapse = "\\n")
model <- structure(list(tree = text("model.tree"), names = text("model.names"), rules = ""), class = "C5.0")
people <- read.csv("{recorded.as_posix()}/train.csv", check.names = FALSE, colClasses = "character")
found <- maxent_review(model, people, "{said["target"]}", limits = list(max_certain = 0))
cat(found$status, sum(found$people$count), nrow(people))"""
    )
    status, counted, rows = printed.split()[-3:]
    assert status in {"fail", "cannot_tell"}
    assert counted == rows


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("maxent_review(lm(age ~ g2, full), full, 'age')", "expected a model of rpart, party, ranger"),
        ("maxent_review(rpart(formula, full), full, 'outcom')", "expected a column outcom in data, found none"),
        ("maxent_review(rpart(formula, full), full, 'outcome', 'agee')", "found no agee"),
        ("maxent_review(rpart(formula, full), full, 'outcome', limits = list(max_certan = 0))", "max-certan"),
        ("maxent_export(rpart(formula, full), R.home(), full)", "expected an empty folder"),
        (
            "options(maxent.command = ''); maxent_review(rpart(formula, full), full, 'outcome')",
            "install it, or options",
        ),
    ],
)
def test_a_wrong_call_says_what_was_expected(code: str, says: str) -> None:
    printed = run(f"{PEOPLE}\ntryCatch({{ {code} }}, error = function(e) cat(conditionMessage(e)))")
    assert says in printed


def test_the_tutorial_ends_with_a_verdict() -> None:
    run("")
    environment = os.environ | {"PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"}
    script = [str(RSCRIPT), str(ROOT / "examples" / "r" / "tutorial.R")]
    done = subprocess.run(script, capture_output=True, check=True, encoding="utf-8", env=environment)
    assert "verdict: CANNOT TELL for an adversary with the table" in done.stdout
    assert "P(progressed)" in done.stdout
