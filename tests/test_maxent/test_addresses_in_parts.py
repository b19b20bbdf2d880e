"""Tables at addresses, which fsspec opens: the numbers of files, and what stores refuse, without secrets."""

import gzip
import json
from importlib import import_module
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
from support.parted import bits, same
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.api.case import Tables
from maxent.models import packages
from maxent.models.errors import InvalidInput
from maxent.models.tables import out_of_core
from maxent.solvers.solve.parallel import workers_of

fsspec = pytest.importorskip("fsspec")

TREE, QI, TRUTH = (str(D1 / name) for name in ("tree.json", "qi.csv", "truth.csv"))
STORE = "memory://people"


class NoCredentialsError(Exception):
    """As a store's package may have it, of no kind that Python knows."""


class Refusing(fsspec.AbstractFileSystem):
    """A store that does not open anything."""

    protocol = "refusing"

    def _open(self, path, *arguments, **options):
        raise {
            "denied": PermissionError("Access Denied"),
            "nobody": NoCredentialsError("Unable to locate credentials"),
            "far": ConnectionError("no answer from https://host/people.csv?X-Signature=SECRET"),
        }[Path(path).stem]


@pytest.fixture
def store():
    """A store with the tables of an example, in several formats."""
    people = pd.read_csv(QI)
    files = fsspec.filesystem("memory")
    files.pipe_file("/people/qi.csv", Path(QI).read_bytes())
    files.pipe_file("/people/qi.csv.gz", gzip.compress(Path(QI).read_bytes()))
    files.pipe_file("/people/some-1.parquet", people.iloc[:4].to_parquet(row_group_size=2))
    files.pipe_file("/people/some-2.parquet", people.iloc[4:].to_parquet())
    files.pipe_file("/people/truth.csv", Path(TRUTH).read_bytes())
    files.pipe_file("/people/facts.csv", b"Education,Salary\nMasters,<=50K\n")
    yield files
    files.rm("/people", recursive=True)


@pytest.mark.parametrize("name", ["qi.csv.gz", "some-*.parquet", "some-[12].parquet"])
def test_the_numbers_are_those_of_a_file(store, name):
    same(maxent.audit(TREE, f"{STORE}/{name}", memory="1GB"), maxent.audit(TREE, QI))


def test_the_command_takes_addresses(store, capsys):
    assert main(["audit", TREE, f"{STORE}/qi.csv", "--control", f"{STORE}/truth.csv", "--memory", "1GB", "--json"]) == 0
    same(json.loads(capsys.readouterr().out), maxent.audit(TREE, QI, control=TRUTH))


@pytest.mark.slow
def test_all_tables_of_calls_in_parts_may_be_at_addresses(store, tmp_path):
    qi, truth, facts = (f"{STORE}/{name}.csv" for name in ("qi", "truth", "facts"))
    store.get("/people/facts.csv", str(tmp_path / "facts.csv"))
    known, closed = {"facts": tmp_path / "facts.csv"}, {"level": "closed"}
    same(maxent.estimate(TREE, qi, truth=truth, memory="1GB").summary, maxent.estimate(TREE, QI, TRUTH).summary)
    same(maxent.estimate(TREE, qi, facts=facts, memory="1GB").summary, maxent.estimate(TREE, QI, **known).summary)
    same(
        maxent.bounds(TREE, qi, facts=facts, memory="1GB", **closed).summary,
        maxent.bounds(TREE, QI, **closed, **known).summary,
    )
    rows = maxent.compare([TREE], qi, truth, test=truth, control=truth, memory="1GB").summary
    same(rows, maxent.compare([TREE], QI, TRUTH, test=TRUTH, control=TRUTH).summary)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"jobs": 2}, {"dask": "local:2"}])
def test_workers_open_addresses_themselves(tmp_path, options):
    if "dask" in options:
        pytest.importorskip("distributed")
    pd.read_csv(QI).to_parquet(tmp_path / "qi.parquet", row_group_size=2)
    given = TREE, f"file://{tmp_path}/*.parquet"
    with mock.patch.object(out_of_core, "SMALLEST", 2):
        here = bits(maxent.audit_release, *given, folder=tmp_path / "here")
        assert here == bits(maxent.audit_release, *given, folder=tmp_path / "there", **options)
    assert here[0]["individuals"] == 11


def test_a_process_that_opened_an_address_is_not_copied():
    tables = Tables("memory://people/qi.csv")
    assert not tables.at_addresses
    assert tables.located().at_addresses
    with workers_of(2, None, copied=False) as found:
        assert (found.jobs, found.copied) == (2, False)


@pytest.mark.parametrize(("address", "complaint"), [
    (f"{STORE}/none.csv", "found no such file\n"),
    (f"{STORE}/none-*.csv", "found no file that does\n"),
    (f"{STORE}/*", "expected a pattern of files of one format"),
    ("nothing://people/qi.csv", "found Protocol not known: nothing"),
    ("s3://people/one::s3://people/two", "s3://: file: path: expected one address, found a chain"),
    ("s3://KEY:SEC/RET@people/qi.csv", "s3://: file: path: expected an address without a password"),
    ("https://me:SECRET@host/qi.csv", "https://: file: path: expected an address without a password"),
    ("refusing://people/denied.csv", "refused (PermissionError: Access Denied); credentials are settings of fsspec"),
    ("refusing://people/nobody.csv", "refused (NoCredentialsError: Unable to locate credentials); credentials"),
    ("refusing://people/far.csv", "found ConnectionError: no answer from https://host/people.csv?..."),
])  # fmt: skip
def test_what_a_store_does_not_do_is_said_without_secrets(store, capsys, address, complaint):
    fsspec.register_implementation("refusing", Refusing, clobber=True)
    assert main(["estimate", TREE, address, "--memory", "1GB"]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "SEC" not in said


class Web(Refusing):
    """A server that wants signed addresses; what it refuses fsspec has as not there, too."""

    protocol = "https"

    def _open(self, path, *arguments, **options):
        if path.endswith("?sig=SECRET"):
            return Path(QI).open("rb")
        reason = OSError(f"403, url={path!r}")
        reason.status = 403
        raise FileNotFoundError(path) from reason


def test_what_signs_an_address_is_in_no_message(monkeypatch, capsys):
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "https", Web)
    same(maxent.audit(TREE, "https://host/qi.csv?sig=SECRET", memory="1GB"), maxent.audit(TREE, QI))
    assert main(["audit", TREE, "https://host/qi.parquet?sig=SECRET", "--memory", "1GB"]) == 2
    said = capsys.readouterr().err
    assert "https://host/qi.parquet?...: file: format: expected a Parquet file" in said
    assert main(["audit", TREE, "https://host/qi.csv?sig=SECRETS", "--memory", "1GB"]) == 2
    said += capsys.readouterr().err
    assert "refused (OSError: 403, url='host/qi.csv?...'); credentials are settings of fsspec" in said
    assert "SECRET" not in said


def test_a_path_that_was_an_address_is_refused():
    with pytest.raises(InvalidInput, match="an address as a string, found a path, of which a slash is lost"):
        maxent.audit(TREE, Path("s3://people/qi.csv"), memory="1GB")


def test_fsspec_is_optional(monkeypatch, capsys):
    monkeypatch.setattr(packages, "installed", lambda module: False)
    assert main(["audit", TREE, "s3://people/qi.csv", "--memory", "1GB"]) == 2
    assert "an address needs fsspec: pip install distributed fsspec; in a copy" in capsys.readouterr().err
