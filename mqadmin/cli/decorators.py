"""Options and arguments that many commands have, as decorators beside click's own.

    @topic_argument()
    @stored_from(required=True)
    @on_masters
    async def run(call: Call, *, topic: str, from_: When, cluster: ..., broker: ...) -> Outcome:

Rule: an option has the same name, type and help in every command, so that users learn it once. A
decorator that is called takes click's keywords, for the help or the default of one command.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar, cast

import click

from mqadmin.cli.options import Argument
from mqadmin.cli.times import END_OF_TIME, SPAN, START_OF_TIME, TIME, OpenTimeSpan, TimeSpan
from mqadmin.cli.types import (
    BROKER,
    CLUSTER,
    DIR,
    FILE_PATH,
    GROUP,
    NAME_VALUE,
    POSITIVE,
    TOPIC,
    Integer,
)

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]


def argument(name: str, **declared: Any) -> Callable[[F], F]:
    """Declare an argument as ``click.argument`` does, with a help text."""

    def declare(run: F) -> F:
        # Each use gets its own decorator, because click 8.1.0 forgets ``cls`` after the first.
        return click.argument(name, cls=Argument, **declared)(run)

    return declare


def combine(*decorators: Decorator[F]) -> Decorator[F]:
    """Return one decorator for several, in the order of the help."""

    def decorate(run: F) -> F:
        for decorator in reversed(decorators):
            run = decorator(run)
        return run

    return decorate


def option_group(name: str, make: Callable[..., object], *decorators: Decorator[F]) -> Decorator[F]:
    """Pass the values of some options to the command as one object.

        @option_group("where", Engine, click.option("--engine"), click.option("--master"))
        def run(call: Call, *, where: Engine) -> Outcome: ...

    Args:
        name: keyword argument of the command that gets ``make(engine=..., master=...)``.
    """

    def decorate(run: F) -> F:
        names = [option.name for option in declared_by(*decorators)]
        run = combine(*decorators)(run)

        @wraps(run)
        def filled(call: object, **values: object) -> object:
            own = {option: values.pop(option) for option in names}
            return run(call, **values, **{name: make(**own)})

        return cast(F, filled)

    return decorate


def declared_by(*decorators: Callable[[Any], Any]) -> list[click.Parameter]:
    """Return the parameters that some decorators declare."""
    return click.command("any")(combine(*decorators)(lambda: None)).params


# Names

topic_argument = partial(argument, "topic", type=TOPIC, help="the topic")
read_topic_argument = topic_argument(
    required=False, help="the topic; all that the group reads if left out"
)
group_argument = partial(argument, "group", type=GROUP, help="the consumer group")
account_argument = argument("account", metavar="KEY", help="its access key")
more_stores = argument("more", nargs=-1, type=DIR, metavar="DIR", help="further store directories")
of_topic = partial(click.option, "--topic", type=TOPIC, help="of this topic")
message_ids_argument = argument(
    "message_ids",
    nargs=-1,
    required=True,
    metavar="ID",
    help="an offset id, or with --topic a unique id",
)
topic_of_id = click.option(
    "--topic", type=TOPIC, help="topic to search for ids that are not offset ids"
)
producer_group = click.option(
    "--group", type=GROUP, default="MQADMIN", help="as this producer group"
)

# Which brokers

broker_option = partial(click.option, "--broker", "-b", type=BROKER)
of_broker = broker_option(help="of this broker: a name or HOST:PORT")
on_broker = broker_option(help="on this broker: a name or HOST:PORT")
only_on_broker = broker_option(help="only on this broker: a name or HOST:PORT")


def broker_map(text: str) -> Decorator[Any]:
    """Return the option that maps broker names, with its help."""
    return click.option(
        "--map", "brokers", type=NAME_VALUE, multiple=True, metavar="OLD=NEW", help=text
    )


clamp_option = click.option(
    "--clamp", is_flag=True, help="use the end of a queue for an offset past it"
)


class Where(NamedTuple):
    """The brokers that a line names: one, those of a cluster, or all."""

    broker: str | None = None
    cluster: str | None = None


of_cluster = partial(click.option, "--cluster", type=CLUSTER)
of_masters = option_group("where", Where, of_broker, of_cluster(help="of the masters of a cluster"))
of_brokers = option_group("where", Where, of_broker, of_cluster(help="of the brokers of a cluster"))
on_brokers = option_group("where", Where, on_broker, of_cluster(help="on the brokers of a cluster"))
to_clean = option_group("where", Where, on_broker, of_cluster(help="on the masters of a cluster"))
on_masters = option_group("where", Where, of_cluster(help="on its masters"), only_on_broker)
"""Where a topic or a group is created or changed."""

# Which file

to_file = partial(
    click.option,
    "--to",
    "-f",
    type=FILE_PATH,
    metavar="FILE",
    help="file to write; - writes to standard output",
)
to_page = click.option(
    "--to",
    "-f",
    "--html",
    "to",
    type=FILE_PATH,
    required=True,
    metavar="FILE",
    help="file to write; - writes to standard output",
)
"""Pages also have the older name --html."""
replace_option = click.option("--replace", is_flag=True, help="overwrite an existing file")

# Which messages, and how many

stored_from = partial(
    click.option, "--from", "from_", type=TIME, help="stored at this time or later"
)
stored_to = partial(click.option, "--to", type=TIME, help="stored at this time or earlier")
stored_between = option_group("stored", OpenTimeSpan, stored_from(), stored_to())
stored_at_any_time = option_group(
    "stored", TimeSpan, stored_from(default=START_OF_TIME), stored_to(default=END_OF_TIME)
)
stored_until = click.option("--until", type=TIME, help="stored at this time or earlier")
with_key = click.option("--key", "-k", help="with this key or unique key")
with_tags = partial(click.option, "--tag", multiple=True, help="with one of these tags")
tag_expression = click.option("--tag", "-t", default="*", help="only these tags, such as 'A || B'")
no_follow_option = click.option(
    "--no-follow", is_flag=True, help="stop at the messages that exist now"
)
limit_option = partial(click.option, "--limit", "-c", type=Integer(min=0), help="at most this many")
no_body_option = click.option("--no-body", is_flag=True, help="omit the body")
no_bodies_option = click.option("--no-body", is_flag=True, help="omit the bodies")
inflate_option = click.option("--inflate", is_flag=True, help="decompress the bodies")
rate_option = click.option("--rate", type=POSITIVE, help="at most this many a second")

# How a store is read

every_span = click.option(
    "--every", type=SPAN, help="length of a span: 10s, 5m, 1h, 1d; chosen to fit if left out"
)
pause_option = click.option(
    "--pause", type=SPAN, help="shortest pause to report: 10s, 5m; an hour if left out"
)
jobs_option = click.option(
    "--jobs",
    type=Integer(min=1),
    help="processes for a large log; by default 1 below 4 cores, otherwise one per core, up to 8",
)
"""The rows do not depend on the number; small stores never start another process."""
