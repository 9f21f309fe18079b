"""What the real classes of RocketMQ say of themselves, as tables, and frames of real processes.

README.md lists the files and says how each was made. Tests and ``make docs`` read them; nothing
changes them.
"""

from pathlib import Path
from typing import Final

FACTS: Final = Path(__file__).resolve().parent
"""The directory of the fact tables."""
