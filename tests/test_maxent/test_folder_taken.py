"""Of several runs that are given one new folder for their results, one has it."""

from pathlib import Path

import pytest

from maxent.api.out_of_core.folder import made
from maxent.models.errors import InvalidInput


@pytest.mark.skipif("os.name != 'posix'", reason="folders can be locked on POSIX only")
def test_a_folder_is_taken_by_one_run(tmp_path: Path) -> None:
    """The second run is refused and leaves the first one's folder alone, also where the first made it just now."""
    folder = tmp_path / "results"
    with made(folder):
        with pytest.raises(InvalidInput, match="in use by another run"), made(folder):
            pass
        (folder / "part-00000.parquet").write_bytes(b"")
    assert [path.name for path in folder.iterdir()] == ["part-00000.parquet"]


def test_results_of_another_run_are_not_replaced(tmp_path: Path) -> None:
    """A run that ended since the folder was looked at keeps its results."""
    (tmp_path / "part-00000.parquet").write_bytes(b"first")
    with pytest.raises(InvalidInput, match="not empty"), made(tmp_path):
        pass
    assert (tmp_path / "part-00000.parquet").read_bytes() == b"first"
