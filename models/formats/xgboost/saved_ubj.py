"""Models that XGBoost saved as UBJSON (1.6 to 3.x, its default since 2.1): the document of its JSON, in binary."""

from __future__ import annotations

from os import PathLike

from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import uncollected
from maxent.models.files.ubjson import read_ubjson_object
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.release_reader import model_reader
from maxent.models.formats.xgboost.model import PARAMETERS
from maxent.models.formats.xgboost.saved_json import converted
from maxent.models.reading import Reader

_START = b"{L\0\0\0\0\0\0\0\x07learner{"


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    return converted(shown_path(path), read_ubjson_object(path), wanted, reader)


READER = model_reader(
    "xgboost-ubj",
    "a model that XGBoost saved as UBJSON",
    (),
    convert,
    lambda head: head.start.startswith(_START),
    parameters=PARAMETERS,
)
