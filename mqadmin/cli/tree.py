"""The commands by name, and what each does: all that is known before a module is imported.

    topic list                 -> mqadmin/commands/topic/list.py
    message query id           -> mqadmin/commands/message/query_id.py
    broker clean unused-topics -> mqadmin/commands/broker/clean.py, with its likes (``MODULES``)
    shell                      -> mqadmin/commands/shell.py

Rule: names match without regard to case, ``_`` and ``-``; the longest name wins. Lists of
commands, completion of words and the look for a name read this table and import no command.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

AREAS: Final[dict[str, dict[str, str]]] = {
    "Topics, groups and messages": {
        "topic clusters": "show in which clusters a topic is",
        "topic consumers": "show which groups read a topic",
        "topic create": "create a topic",
        "topic delete": "delete a topic and its messages",
        "topic import": "create or change the topics of a file",
        "topic list": "list the topics",
        "topic order-conf": "show or set the queues of an ordered topic",
        "topic perm": "set who may read and write a topic",
        "topic route": "show which brokers have a topic",
        "topic show": "show the queues of a topic: ends and permission",
        "topic status": "show how full the queues of a topic are",
        "topic update": "change settings of a topic",
        "group config": "show the settings of a consumer group",
        "group consume-mode get": "show which groups pull and which pop",
        "group consume-mode set": "let a group pull a topic, or pop from it",
        "group copy": "copy a group with its offsets from another cluster",
        "group create": "create a consumer group",
        "group delete": "delete a consumer group",
        "group import": "create or change the consumer groups of a file",
        "group lag": "show how far a group is behind",
        "group list": "list the consumer groups",
        "group running": "show queues, caches and locks inside each member",
        "group show": "show members, subscriptions and settings of a group",
        "group tps": "show how fast topics are written and read, and lag",
        "group update": "change settings of a consumer group",
        "offset clone": "give a group the offsets of another one",
        "offset export": "write the offsets of groups to a file",
        "offset import": "store the offsets of a file",
        "offset reset": "move a group to another place in a topic",
        "offset show": "show the committed offsets of a group",
        "offset skip": "let a group pass over messages",
        "message bench": "measure how fast messages are stored",
        "message consume-direct": "hand a stored message to a live consumer",
        "message decode-id": "show what is written in a message id",
        "message export": "write the messages of a topic to a file",
        "message get": "find messages by an id, a key or a place",
        "message import": "send the messages of a file",
        "message print": "print the messages of a topic",
        "message query id": "find a message by its id",
        "message query key": "find the messages with a key",
        "message query offset": "show the message at a place of a queue",
        "message query time": "find the messages that were stored in a span of time",
        "message query unique-key": "find a message by the id that its producer got",
        "message recall": "take back a timer message before its time",
        "message resend": "send a stored message once more",
        "message send": "send a message",
        "message tail": "follow a topic: print messages as they come",
        "message trace": "show the whole life of a message in one time line",
        "queue show": "show entries of a consume queue",
        "dead-letter list": "list which groups have given up messages",
        "dead-letter resend": "give a group its dead letters again",
        "dead-letter show": "show the messages that a group has given up",
        "delay list": "list delayed messages that wait, by level",
        "transaction list": "show half messages that nobody decided",
        "lock list": "show which client holds which queue, and who waits",
        "rebalance plan": "show who would read which queue, if members changed",
        "rebalance show": "show which member reads which queue",
        "rebalance watch": "show assignments that change, and queues that flap",
    },
    "Clusters and brokers": {
        "cluster list": "list clusters and brokers with versions and rates",
        "cluster rt": "measure how long a message takes to every broker",
        "cluster status": "show what every broker did today, and how it is",
        "broker clean expired-log": "delete commit log files that are past their age",
        "broker clean expired-queues": "delete consume queues whose messages are all gone",
        "broker clean unused-topics": "delete the queues of topics without settings",
        "broker config get": "show the settings of a broker",
        "broker config set": "change a setting of running brokers",
        "broker connections": "show who is connected to a broker",
        "broker consume-stats": "show how far every group on a broker is",
        "broker container add": "start a broker in a BrokerContainer of RocketMQ 5",
        "broker container remove": "stop a broker in a BrokerContainer of RocketMQ 5",
        "broker demote": "make a replaced master a slave of the new one",
        "broker list": "list the brokers and their addresses",
        "broker promote": "make a slave the master, when its master is gone",
        "broker stats": "show what a broker counted: minute, hour and day",
        "broker status": "show counters and gauges of a broker",
        "broker write-perm add": "tell producers that they may write again",
        "broker write-perm wipe": "tell producers not to write to a broker",
        "namesrv config get": "show the settings of the name servers",
        "namesrv config set": "change a setting of the name servers",
        "namesrv kv delete": "delete a key of the name servers' table",
        "namesrv kv get": "show values of the name servers' table",
        "namesrv kv set": "set a value in the name servers' table",
        "ha epochs": "show under which masters each log was written",
        "ha reset-flush-offset": "tell a slave how far its master has flushed",
        "ha status": "show masters, and how far behind their slaves are",
        "controller clean": "let controllers forget brokers, or a whole group",
        "controller config get": "show the settings of controllers",
        "controller config set": "change a setting of running controllers",
        "controller elect": "make a broker the master of its group",
        "controller leader": "show which controller leads",
        "controller status": "show masters and in-sync sets of groups",
        "acl delete": "delete an account of brokers with access control",
        "acl list": "list the accounts of brokers with access control",
        "acl set": "create an account, or change the named fields",
        "acl show": "show one account of brokers with access control",
        "acl version": "show when the accounts of each broker changed",
        "acl white-addr": "show or replace who needs no account",
    },
    "Health": {
        "doctor": "look for everything that is wrong with a cluster",
        "top": "show brokers, groups and topics live, the worst first",
        "wait broker": "wait until a broker is registered and answers",
        "wait group": "wait until a group is known, with enough members",
        "wait lag": "wait until a group has read everything",
        "wait topic": "wait until a topic is there, or gone",
        "assert group": "exit 1 where a group is not known, or too small",
        "assert lag": "exit 1 where a group is further behind than it may be",
        "assert message-count": "exit 1 where a topic holds too few or too many messages",
        "assert topic": "exit 1 where a topic is not there, or not as it is to be",
        "exporter": "serve the metrics of a cluster to Prometheus",
        "report": "show a cluster as one page of HTML",
    },
    "Whole clusters as documents": {
        "export": "write topics, groups and accounts as a YAML document",
        "export configs": "write settings of masters as the file of the Java tool",
        "export metadata": "write topics and groups as the file of the Java tool",
        "export metrics": "write counters of masters as the file of the Java tool",
        "diff": "compare topics, groups and accounts of clusters or files",
        "apply": "bring topics, groups and accounts to what a document says",
        "undo": "put back what a destructive write changed",
    },
    "Store directories": {
        "store carve": "find records in damaged, cut, overwritten or orphan files",
        "store checkpoint": "show how far a store directory was flushed",
        "store config": "list what the files of config/ in a store directory say",
        "store diff": "compare two stores: first divergence, then queue by queue",
        "store epoch": "show or repair which promotion a store directory follows",
        "store events": "show what happened to a store directory, and when",
        "store export": "write the messages of a store directory to a file",
        "store get": "show one message of a store directory",
        "store hexdump": "show the bytes of a record or an entry, each named",
        "store index": "list the entries of the index files",
        "store info": "show what a store directory holds",
        "store log": "list the messages of a store directory",
        "store ls": "list the files of a store directory",
        "store masters": "show under which masters a log was written",
        "store offsets": "list where consumer groups stand in a store directory",
        "store pop": "show what POP gave out and what was acknowledged",
        "store query": "find the messages with a key in a store directory",
        "store queue": "list the entries of consume queues",
        "store rebuild": "make consume queues and index again from the commit log",
        "store repair": "copy a damaged store into one that a broker opens",
        "store report": "write a page with pictures of a store directory",
        "store seal": "write checksums of whole records beside a store",
        "store stats": "count the messages of a store directory",
        "store tail": "follow a store directory: print messages as they are stored",
        "store timeline": "show when the messages of a store directory came",
        "store trace": "show the whole life of a message in a store directory",
        "store verify": "look for damage in a store directory",
    },
    "Jobs on Spark": {
        "pipeline archive": "archive live topics into Parquet, each message once",
        "pipeline archive clean": "delete files of an archive that do not count",
        "pipeline archive compact": "make few large files of an archive's small ones",
        "pipeline archive expire": "take old messages out of an archive",
        "pipeline diff": "compare two stores, on Spark",
        "pipeline duplicates": "find messages sent more than once, on Spark",
        "pipeline events": "show what happened to a store, and when, on Spark",
        "pipeline extract": "write the messages of stores to files, on Spark",
        "pipeline grep": "find messages by a match in their body, on Spark",
        "pipeline lag": "show how far each group was behind, on Spark",
        "pipeline rebuild": "make consume queues and index again, on Spark",
        "pipeline restore": "bring an archive back, into a store or a topic",
        "pipeline rewind plan": "show what a move to a time would replay, on Spark",
        "pipeline stats": "count messages and bytes by topic and hour, on Spark",
        "pipeline timeline": "show when the messages of a store came, on Spark",
        "pipeline trace": "show the life of messages in many stores, on Spark",
        "pipeline verify": "look for damage in stores, on Spark",
    },
    "The tool itself": {
        "shell": "run commands with completion, or a script",
        "demo": "take a guided tour: live views, then a broken store",
        "embedded": "run a name server and a broker, until interrupted",
        "context add": "name a cluster, or change what a name means",
        "context list": "list the named contexts",
        "context remove": "forget a named context",
        "context show": "show one context",
        "context use": "make a context the current one",
        "completion": "print the completion script for a shell",
        "completion names": "list live names for completion",
    },
}
"""What each command does, in the order in which ``--help`` lists them."""

MODULES: Final = {
    **{
        noun: noun
        for noun in (
            *("acl", "apply", "completion", "context", "delay", "demo", "diff", "doctor"),
            *("embedded", "exporter", "ha", "lock", "namesrv", "queue", "rebalance", "report"),
            *("shell", "top", "transaction", "undo"),
        )
    },
    "assert": "conditions",
    "wait": "conditions",
    "topic clusters": "topic.places",
    "topic consumers": "topic.places",
    "topic route": "topic.places",
    "topic show": "topic.queues",
    "topic status": "topic.queues",
    **{f"topic {verb}": "topic.settings" for verb in ("create", "import", "perm", "update")},
    **{f"group {verb}": "group.settings" for verb in ("config", "create", "import", "update")},
    "offset reset": "offset.move",
    "offset skip": "offset.move",
    **{f"offset {verb}": "offset.copies" for verb in ("clone", "export", "import")},
    "group consume-mode": "group.consume_mode",
    "message get": "message.query",
    **{f"message query {by}": "message.query" for by in ("key", "offset", "time", "unique-key")},
    "cluster list": "cluster.status",
    "controller config": "controller.config",
    "broker config": "broker.config",
    "broker container": "broker.container",
    "broker consume-stats": "broker.stats",
    "broker status": "broker.config",
    "broker clean": "broker.clean",
    "broker write-perm": "broker.write_perm",
    "broker promote": "broker.role",
    "broker demote": "broker.role",
    **{f"export {what}": "export.java" for what in ("configs", "metadata", "metrics")},
    **{f"store {verb}": "store.salvage" for verb in ("carve", "rebuild", "repair")},
    **{f"store {verb}": "store.checks" for verb in ("diff", "seal", "verify")},
    **{f"store {what}": "store.files" for what in ("checkpoint", "config", "ls")},
    "store epoch": "store.epoch",
    **{f"store {verb}": "store.history" for verb in ("events", "stats", "timeline")},
    **{f"store {verb}": "store.messages" for verb in ("get", "log", "query", "tail")},
    "store index": "store.entries",
    "store queue": "store.entries",
    "pipeline archive": "pipeline.archives",
    "pipeline restore": "pipeline.archives",
    "pipeline lag": "pipeline.groups",
    "pipeline rewind": "pipeline.groups",
    **{
        f"pipeline {job}": "pipeline.messages" for job in ("duplicates", "extract", "grep", "trace")
    },
    **{
        f"pipeline {job}": "pipeline.stores"
        for job in ("diff", "events", "rebuild", "stats", "timeline", "verify")
    },
}
"""Modules of several commands, and nouns that have no folder, by the words a name begins with."""

DESTRUCTIVE_WORDS: Final = frozenset(
    {
        *("apply", "clean", "delete", "demote", "elect", "expire", "import", "promote", "remove"),
        "reset",
        *("skip", "undo", "wipe"),
    }
)
"""Words in the names of commands that take something away; a typo never leads to one of these."""

ALIASES: Final = {"store query key": "store query"}
"""Further names of commands that scripts use; they are not listed."""
COMMANDS: Final = {name: text for area in AREAS.values() for name, text in area.items()}
HELP_WORD: Final = "help"
VERSION_WORD: Final = "version"
TEXT_WORDS: Final = {
    HELP_WORD: "explain a group or a command",
    VERSION_WORD: "print the version",
}
"""Words that name no command, but are answered by a text."""


def fold(word: str) -> str:
    """Return a name as it is compared: lower case, without ``_`` and ``-``."""
    return word.lower().replace("-", "").replace("_", "")


def command_named(words: Sequence[str]) -> str | None:
    """Return the command whose whole name the words are, None where there is none."""
    return _by_folded_words().get(_key(words)) if words else None


def is_destructive(name: str) -> bool:
    """Return whether a command takes something away that it cannot give back."""
    return not DESTRUCTIVE_WORDS.isdisjoint(name.split())


def find_command(words: Sequence[str]) -> tuple[str | None, int]:
    """Return the command that the first of ``words`` name, and how many words that takes."""
    for count in range(len(words), 0, -1):
        name = command_named(words[:count])
        if name is not None:
            return name, count
    return None, 0


def commands_below(words: Sequence[str]) -> list[str]:
    """Return the commands whose names go on behind ``words``."""
    typed = [fold(word) for word in words]
    return [
        name
        for name, parts in _folded_words()
        if len(parts) > len(typed) and parts[: len(typed)] == typed
    ]


def next_words(words: Sequence[str]) -> dict[str, str]:
    """Return the words that may follow in a name, and what they mean."""
    found: dict[str, str] = {}
    for name in commands_below(words):
        parts = name.split()
        whole = len(parts) == len(words) + 1
        meaning = (
            COMMANDS[ALIASES.get(name, name)]
            if whole
            else f"{' '.join(parts[: len(words) + 1])} ..."
        )
        if whole or parts[len(words)] not in found:
            found[parts[len(words)]] = meaning
    return dict(sorted(found.items()))


def module_of(name: str) -> str:
    """Return the module of a command; a word of Python has a ``_`` behind it there."""
    words = name.split()
    for count in range(1, len(words) + 1):
        if module := MODULES.get(" ".join(words[:count])):
            return f"mqadmin.commands.{module}"
    noun, *verb = name.replace("-", "_").split()
    stem = "_".join(verb) or noun
    return f"mqadmin.commands.{noun}.{stem}" + ("_" if stem == "import" else "")


@cache
def _by_folded_words() -> dict[tuple[str, str], str]:
    names = {_key(name.split()): name for name in COMMANDS}
    return names | {_key(alias.split()): name for alias, name in ALIASES.items()}


@cache
def _folded_words() -> list[tuple[str, list[str]]]:
    names = (*COMMANDS, *ALIASES)
    return [(name, [fold(word) for word in name.split()]) for name in names]


def _key(words: Iterable[str]) -> tuple[str, str]:
    """Return noun and verb as they are compared: ``query-key`` is ``query key``."""
    noun, *verb = (fold(word) for word in words)
    return noun, "".join(verb)
