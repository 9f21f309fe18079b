"""``python -m mqadmin`` is the program ``mqadmin``."""

import sys

from mqadmin.cli import main

sys.exit(main())
