"""Locks on open files and folders: the system gives them back when the process ends, however it does."""

from __future__ import annotations

import os
import sys


def locked(handle: int) -> bool:
    """Take the lock of an open file, or of a folder, until it is closed; False when another one has it.

    Raises
    ------
    OSError
        Where the file system knows no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 1 << 20, os.SEEK_SET)  # other processes cannot read what is locked
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
