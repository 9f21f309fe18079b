"""Where the program ``mqadmin`` begins, also as ``python -m mqadmin``."""

import gc
import sys

# What is loaded stays: looking for garbage among it is a tenth of a one-shot command. This holds
# before the first import of ours.
gc.set_threshold(20_000)

from mqadmin.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
