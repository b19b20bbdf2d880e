"""Opening what was published: the readers of other formats, which are many, are loaded for what is not in ours."""

from __future__ import annotations

from os import PathLike

from maxent.models.formats.maxent_json.read import READER
from maxent.models.formats.release_reader import Records, read_head
from maxent.models.reading import Reader
from maxent.models.release import Release


def open_published(published: object, reader: Reader) -> Release | Records:
    """What `maxent.models.formats.registry.open_published` reads; the reader of ours is the first one there.

    Raises
    ------
    InvalidInput
        As there.
    """
    own = READER.recognise if reader.reading.format is None else None
    if own is not None and isinstance(published, (str, PathLike)) and own(read_head(published)):
        return READER.read(published, reader)
    from maxent.models.formats import registry

    return registry.open_published(published, reader)
