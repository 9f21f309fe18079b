"""Options that ``store rebuild`` and ``store repair`` share."""

import click

from mqadmin.cli.decorators import combine, option_group
from mqadmin.cli.types import DIR, INTEGER
from storefmt.names import DELAY_LEVELS
from storefmt.offline.repair.rebuild import StoreShape

shape_options = combine(
    click.option("--to", type=DIR, required=True, metavar="OUT", help="new or empty directory"),
    option_group(
        "shape",
        StoreShape,
        click.option(
            "--queue-file-size",
            type=INTEGER,
            default=0,
            help="size of a queue file in bytes; 0 for that of the old files, or 6000000",
        ),
        click.option(
            "--index-slots",
            "index_slot_count",
            type=INTEGER,
            default=0,
            help="slots of an index file; 0 for the number in the old files, or 5000000",
        ),
        click.option(
            "--index-entries",
            "index_entry_count",
            type=INTEGER,
            default=0,
            help="entries of an index file; 0 for the number in the old files, or 20000000",
        ),
        click.option(
            "--delay-levels", default=DELAY_LEVELS, help="messageDelayLevel of the broker"
        ),
    ),
)
"""``--to``, and the sizes as ``shape``."""
