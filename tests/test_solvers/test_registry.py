"""Back ends are found by name, also those of a third party, and errors name what there is."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace

import pytest
from support.paths import ROOT
from support.programs import people, private, public, whole
from support.toys import install_package

from maxent.models.induction.inducers import id3
from maxent.solvers.backend import Backend
from maxent.solvers.backends import auto
from maxent.solvers.backends.auto import for_ipopt
from maxent.solvers.backends.registry import (
    Description,
    MissingExtra,
    UnknownBackend,
    backend_names,
    describe_backends,
    load_backend,
    usable_backends,
)

TOY = ROOT / "tests" / "toy_backend"


@pytest.fixture
def extra(tmp_path, monkeypatch):
    """Five classes that a third party registers, and an entry point to nothing."""
    module = """
class Plain:
    name = "plain"
    solves = "nothing"

    def refuses(self, program):
        return "everything"

    def solve(self, program, start, options):
        raise NotImplementedError


class Named(Plain):
    def __init__(self, which):
        self.name = f"named:{which}"

    @staticmethod
    def version():
        return "2.0"

    @staticmethod
    def available():
        return ("this", "that")


class Quiet(Plain):
    def __init__(self, which):
        self.name = f"quiet:{which}"


class Unversioned(Plain):
    def version(self):
        raise OSError("no such executable")


class Broken(Plain):
    def __init__(self):
        raise ZeroDivisionError("at the first touch")
"""
    classes = ("Plain", "Named", "Quiet", "Unversioned", "Broken", "Nothing")
    entries = {name.lower(): f"extra:{name}" for name in classes} | {"gone": "extra_gone:Gone"}
    install_package(tmp_path, "extra", module, entries)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("extra", None)


@pytest.mark.parametrize("name", ["auto", "ipopt", "ipopt:own", "scipy", "scipy:slsqp"])
def test_a_name_gives_its_back_end(name):
    backend = load_backend(name)
    assert isinstance(backend, Backend)
    assert backend.name == name
    assert name.partition(":")[0] in backend_names()


def test_the_default_comes_first_and_once():
    assert backend_names()[0] == "auto"
    assert len(set(backend_names())) == len(backend_names())


def test_an_unknown_name_lists_the_known_ones_and_what_is_close():
    with pytest.raises(
        UnknownBackend, match=r"backend: expected one of auto, .*ipopt.*, found 'ipop'; did you mean 'ipopt'\?$"
    ):
        load_backend("ipop")
    with pytest.raises(UnknownBackend, match=r"backend: expected one of auto, .*, found 'zzz'$"):
        load_backend("zzz")
    with pytest.raises(UnknownBackend, match=r"found ''$"):
        load_backend("")


def test_what_follows_the_first_colon_is_the_argument(extra):
    assert load_backend("named:this:one").name == "named:this:one"
    assert load_backend("named:").name == "named:"


@pytest.mark.parametrize("name", ["auto:fast", "plain:x", "plain:"])
def test_a_back_end_without_arguments_takes_none(name, extra):
    with pytest.raises(
        UnknownBackend, match=f"'{name.partition(':')[0]}' alone, which takes no argument, found '{name}'"
    ):
        load_backend(name)


def test_ipopt_has_one_other_source_of_derivatives():
    with pytest.raises(UnknownBackend, match=r"expected ipopt or ipopt:own, found 'ipopt:fast'$"):
        load_backend("ipopt:fast")


def test_a_back_end_with_an_argument_needs_one(extra):
    with pytest.raises(
        UnknownBackend, match=r"expected named:NAME, with a NAME that is here: this, that, found 'named'$"
    ):
        load_backend("named")
    with pytest.raises(UnknownBackend, match=r"expected quiet:NAME, found 'quiet'$"):
        load_backend("quiet")


@pytest.mark.parametrize("name", ["gone", "nothing"])
def test_what_cannot_be_imported_is_missing(name, extra):
    with pytest.raises(MissingExtra, match=f"backend '{name}' cannot be loaded"):
        load_backend(name)


def test_every_back_end_is_described(extra):
    described = {found.name: found for found in describe_backends()}
    assert tuple(described) == backend_names()
    assert described["ipopt"].installed
    assert described["ipopt"].version
    assert described["scipy"].solves
    assert (described["plain"].installed, described["plain"].version, described["plain"].solves) == (
        True,
        "",
        "nothing",
    )
    named = described["named"]
    assert (named.installed, named.version, named.solves) == (True, "2.0", "nothing; here: named:this, named:that")
    assert described["quiet"].installed
    assert described["unversioned"] == Description("unversioned", True, "", "nothing")
    for name, reason in (("broken", "ZeroDivisionError: at the first touch"), ("gone", "extra_gone")):
        assert not described[name].installed
        assert reason in described[name].missing
    assert all(found.installed == (not found.missing) for found in described.values())


def test_usable_names_can_be_loaded(extra):
    names = usable_backends()
    assert {"auto", "ipopt", "scipy", "plain", "named:this", "named:that"} <= set(names)
    assert not {"named", "quiet", "broken", "gone", "nothing"} & set(names)
    for name in names:
        assert isinstance(load_backend(name), Backend)


def maxent(folder, *arguments):
    """The program in a process of its own, with a folder of packages."""
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    command = [sys.executable, "-W", "error", "-m", "maxent", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=folder, env={**os.environ, "PYTHONPATH": paths}
    )


@pytest.mark.slow
def test_a_third_party_adds_one_without_touching_this_repository(tmp_path):
    project = tomllib.loads((TOY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (TOY / "maxent_toy.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 100
    install_package(tmp_path, "maxent_toy", source, project["entry-points"]["maxent.backends"])
    for name in ("tree.json", "qi.csv"):
        shutil.copy(ROOT / "examples" / "d1" / name, tmp_path)
    answers = {}
    for name in ("toy", "ipopt"):
        # Presolve has a closed form for most of this problem: without it, the back end solves all.
        call = ("estimate", "tree.json", "qi.csv", "--no-presolve", "--backend", name)
        ran = maxent(tmp_path, *call, "--json", "-o", f"{name}.csv")
        assert (ran.returncode, ran.stderr) == (0, "")
        summary = json.loads(ran.stdout)
        assert (summary["backend"], summary["status"]) == (name, "optimal")
        assert summary["max_violation"] <= 1e-8
        answers[name] = list(csv.DictReader(io.StringIO((tmp_path / f"{name}.csv").read_text(encoding="utf-8"))))
    assert len(answers["toy"]) == 7
    for toy, ipopt in zip(answers["toy"], answers["ipopt"], strict=True):
        for column in ("P(<=50K)", "P(>50K)"):
            assert float(toy[column]) == pytest.approx(float(ipopt[column]), abs=1e-6)
    listed = json.loads(maxent(tmp_path, "backends", "--json").stdout)["backends"]
    assert {"name": "toy", "installed": True, "version": "0.1"}.items() <= next(
        row for row in listed if row["name"] == "toy"
    ).items()
    refused = maxent(tmp_path, "estimate", "tree.json", "qi.csv", "--backend", "toi")
    assert refused.returncode == 2
    assert "found 'toi'; did you mean 'toy'?" in refused.stderr


def several():
    """Two trees about the same people, and these."""
    frame = people()
    options = {"target": "X", "impurity": "entropy", "publish": "rates", "min_samples_split": 15}
    trees = [id3(frame, qi=own, **options) for own in (["A", "B", "C"], ["C", "A"])]
    compared = [replace(tree.trees[0].induction, compared=own) for tree, own in zip(trees, ("ABC", "AC"), strict=True)]
    found = [replace(one.trees[0], induction=known) for one, known in zip(trees, compared, strict=True)]
    return replace(trees[0], trees=tuple(found), predicts="vote"), frame


def test_programs_whose_equations_overlap_go_to_ipopt_unless_they_are_large(monkeypatch):
    one, forest, hidden = (whole(*case)[1].program for case in (public("entropy"), several(), private("entropy")))
    assert not any(program.convex for program in (one, forest, hidden))
    assert [for_ipopt(program) for program in (one, forest, hidden)] == [False, True, True]
    monkeypatch.setattr(auto, "PRIVATE", 1)  # several trees may have more
    assert [for_ipopt(program) for program in (one, forest, hidden)] == [False, True, False]
    monkeypatch.setattr(auto, "SEVERAL", 1)
    assert not for_ipopt(forest)
