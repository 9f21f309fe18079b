"""The arguments of commands on archives."""

import click

from mqadmin.cli.declare import argument
from mqadmin.cli.types import TOPIC

of_archive = argument("archive", help="directory, or a URI such as s3://bucket/name")


only_topics = click.option(
    "--topic", type=TOPIC, multiple=True, help="only this topic; may be given more than once"
)
