"""Write the small file beside a user's file that notes how far a command is.

Rule: a link of that name is replaced and never followed, because other users may be able to write
to the directory. The file is complete, or does not exist.
"""

import os
from pathlib import Path


def write_note(path: Path, text: str) -> None:
    """Replace a note and sync it to the disk.

    Raises:
        OSError: it cannot be written; the old note stays.
    """
    fresh = path.with_name(path.name + ".tmp")
    fresh.unlink(missing_ok=True)
    with fresh.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
