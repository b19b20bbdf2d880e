"""A defense of a third party, two files and an entry point, is everywhere that those of this package are."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).parents[1] / "toy_defense"

STUDY = """
[data.people]
file = "people.csv"
target = "class"
[[grid]]
method = ["none", "blunt"]
max_depth = 3
estimate = false
[[grid]]
method = "blunt"
share = [0.7, 0.8]
max_depth = 3
estimate = false
"""

RUDE = """
from dataclasses import dataclass
from maxent_blunt import Blunted
from maxent.models.arguments import parameter

@dataclass(frozen=True)
class Rude(Blunted):
    target: str = parameter("mine", "A name that is taken.")
"""

CODE = """
import json, sys
import maxent
from maxent.__main__ import main
from maxent.models.defenses.registry import method_names

CALL = ["people.csv", "--target", "class", "--qi", "age,job"]

def printed(*call):
    print(f"=== {' '.join(call[:3])}")
    print("status", main([*call]))

print("=== names")
print(json.dumps(method_names()))
printed("defend", "--help")
printed("defend", "blunt", "--help")
printed("defend", "none", "--help")
printed("defend", "blunt", *CALL, "--share", "0.9", "--max-depth", "3", "-o", "blunt.json", "--json")
print("=== refused")
sys.stdout.flush()
assert main(["defend", "blunt", *CALL, "--share", "2", "--k", "3", "-o", "no.json"]) == 2
assert main(["defend", "kadet", *CALL, "--share", "0.7", "-o", "no.json"]) == 2
assert main(["defend", "lost", *CALL, "-o", "no.json"]) == 2
assert main(["defend", "odd", *CALL, "-o", "no.json"]) == 2
printed("sweep", "study.toml", "--dry-run")
print("=== python")
made = maxent.defend("people.csv", "blunt", target="class", qi=["age", "job"], share=0.9, max_depth=3)
surest = max(max(leaf.counts.values()) / leaf.n for leaf in made.release.trees[0].leaves)
print(json.dumps([made.rows[0]["guarantee"], surest]))
print("=== rows")
rows = maxent.sweep("study.toml", "results").rows
print(json.dumps([[row["method"], row["share"], row["leaves"], row["inducer"], row["status"]] for row in rows]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a process says in which the toy is installed, as pip would install it: title of a part -> its text."""
    folder = tmp_path_factory.mktemp("toy")
    info = folder / "maxent_blunt-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: maxent-blunt\nVersion: 1.0\n", encoding="utf-8")
    named = {"blunt": "maxent_blunt:Blunted", "lost": "nowhere:Lost", "none": "maxent_blunt:Blunted"}
    named |= {"odd": "odd:Odd", "rude": "rude:Rude"}
    entries = "\n".join(["[maxent.defenses]", *(f"{name} = {place}" for name, place in named.items()), ""])
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    rows = [
        f"{20 + i % 17},{'cook' if i % 3 else 'clerk'},{'yes' if (i % 17 > 8) ^ (i % 7 == 0) else 'no'}"
        for i in range(90)
    ]
    (folder / "people.csv").write_text("\n".join(["age,job,class", *rows, ""]), encoding="utf-8")
    (folder / "odd.py").write_text("1 / 0\n", encoding="utf-8")
    (folder / "rude.py").write_text(RUDE, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{TOY}", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout
    parts = ran.stdout.split("=== ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def test_it_comes_after_the_methods_of_the_package_and_takes_no_name_of_theirs(told):
    names = json.loads(told["names"])
    assert names[:7] == ["none", "prune-leaf", "prune-parent", "optimal", "kadet", "erp", "rdt"]
    assert names[7:] == ["blunt", "lost", "odd", "rude"]
    assert "The tree as it is grown" in told["defend none --help"]


def test_it_has_a_line_in_the_help_and_a_command_with_its_options(told):
    assert "  blunt         The tree without leaves that are nearly of one class.\n" in told["defend --help"]
    own = told["defend blunt --help"]
    assert "Usage: maxent defend blunt DATA --target COLUMN" in own
    assert re.search(r"  --share P +The largest share of a class in a leaf.  \[default: 0.9\]\n", own)
    assert "--min-samples-leaf N" in own
    assert "--k" not in own
    assert "--share" not in told["defend none --help"]


def test_its_command_defends_and_refuses(told):
    found = json.loads(told["defend blunt people.csv"].rpartition("status")[0])
    assert found["guarantee"] == {"share": 0.9}
    assert found["notes"][0] == "guaranteed: no leaf below the root is surer of a class than asked"
    assert 1 <= found["leaves"] < found["leaves_before"]
    wrong = told["refused"]
    assert "--share: expected a number above 0 and below 1, found 2.0" in wrong
    assert "--k: expected none for the method blunt: it is an option of prune-leaf, prune-parent" in wrong
    assert "--share: expected none for the method kadet: it is an option of blunt, rude, found 0.7" in wrong


def test_a_method_that_is_broken_hides_no_other(told):
    assert "METHOD: expected a method that can be loaded, found defense 'lost' cannot be loaded" in told["refused"]
    assert "defense 'odd' cannot be loaded: division by zero" in told["refused"]


def test_it_is_one_of_a_study_and_its_option_a_column(told):
    assert "method=blunt inducer=cart impurity=gini max_depth=3 share=0.8" in told["sweep study.toml --dry-run"]
    rows = json.loads(told["rows"])
    assert [row[:2] for row in rows] == [["none", None], ["blunt", None], ["blunt", 0.7], ["blunt", 0.8]]
    assert all(row[3:] == ["cart", "audited"] for row in rows)


def test_it_is_a_method_of_python(told):
    guarantee, share = json.loads(told["python"])
    assert guarantee == {"share": 0.9}
    assert 0.5 < share <= 0.9
