"""docs/settings.md: every setting of the servers, with Java's default beside ours.

Java's defaults were read from the real classes by reflection (``tests/facts/config.json``).

Rule: the meaning of a setting is written once, in the docstring below its attribute.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Final

from mqserver.broker.config import BrokerConfig
from mqserver.controller.controller_config import ControllerConfig
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.javakeys import BROKER_KEYS, CONTROLLER_KEYS, NAMESRV_KEYS, USER_KEYS
from mqserver.runtime.typed_config import keys_of
from mqserver.store.store_config import StoreConfig
from tests.facts import FACTS

PARTS: Final[Mapping[str, tuple[str, type]]] = {
    "Broker": ("BrokerConfig and NettyServerConfig", BrokerConfig),
    "Store": ("MessageStoreConfig; in the same file as those of the broker", StoreConfig),
    "Name server": ("NamesrvConfig and NettyServerConfig", NamesrvConfig),
    "Controller": (
        "ControllerConfig of 5.4.0; in the file of a name server with enableControllerInNamesrv",
        ControllerConfig,
    ),
}
JAVA_CLASSES: Final = {
    "Broker": ("BrokerConfig", "NettyServerConfig", "NettyClientConfig", "MessageStoreConfig"),
    "Store": ("MessageStoreConfig",),
    "Name server": ("NamesrvConfig", "NettyServerConfig"),
}
JAVA_CONTROLLER: Final[Mapping[str, object]] = {
    "controllerDLegerGroup": None,
    "controllerStorePath": None,
    "enableElectUncleanMaster": False,
    "notifyBrokerRoleChanged": True,
    "scanNotActiveBrokerInterval": 5_000,
    "serverChannelMaxIdleTimeSeconds": 120,
}
"""Defaults of ControllerConfig and NettyServerConfig of 5.4.0, read from its sources."""
PORTS: Final = {("Broker", "listenPort"): 10911, ("Name server", "listenPort"): 9876}
"""Defaults that a start-up of Java sets, after the field of its class."""


def java_defaults() -> dict[str, dict[str, object]]:
    """Return the defaults of Java's fields, by part and key."""
    classes = json.loads((FACTS / "config.json").read_text())["classes"]
    made: dict[str, dict[str, object]] = {}
    for part, names in JAVA_CLASSES.items():
        made[part] = {
            key: field["default"]
            for name in reversed(names)
            for key, field in classes[name]["fields"].items()
        }
    made["Controller"] = dict(JAVA_CONTROLLER)
    for (part, key), port in PORTS.items():
        made[part][key] = port
    return made


def meanings(config: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a class that have a docstring, with its text."""
    body = ast.parse(textwrap.dedent(inspect.getsource(config))).body[0]
    assert isinstance(body, ast.ClassDef)
    for node, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            yield node.target.id, " ".join(after.value.value.split())


def shown(value: object) -> str:
    """Return a default as it would stand in a properties file."""
    match value:
        case None | "":
            return ""
        case bool():
            return str(value).lower()
        case Enum():
            return f"`{value.name}`"
        case _:
            return f"`{value}`"


def rows(part: str, config: type, java: Mapping[str, object]) -> Iterator[str]:
    """Yield a row of the table for each key of a class.

    Raises:
        KeyError: an attribute has no docstring.
    """
    said = dict(meanings(config))
    defaults = {field.name: field.default for field in fields(config)}
    for name, key in sorted(keys_of(config).items()):
        default = defaults[key.attribute]
        ours = "found at the start" if default is MISSING else shown(default)
        theirs = shown(java[name]) if name in java else "–"
        meaning = said[key.attribute].replace("``", "`").replace("|", "\\|")
        yield f"| `{name}` | {theirs} | {ours} | {meaning} |"


def settings(printed: str) -> str:
    """Return docs/settings.md."""
    java = java_defaults()
    lines = [
        "# Settings of the servers",
        "",
        printed,
        "Keys are those of RocketMQ. They stand in a properties or YAML file (`-c`) or in",
        "environment variables (`ROCKETMQ_<key>`). The column Java has the default of Java, or",
        "`–` where Java has no such setting, which is then called an extension. Sizes are in",
        "bytes. `mqbroker -p` prints the settings in use. The settings of TLS are on the page",
        "about [security](security.md#tls).",
    ]
    used: set[str] = set()
    for part, (source, config) in PARTS.items():
        used |= set(keys_of(config))
        lines += ["", f"## {part}", "", f"In RocketMQ: {source}.", ""]
        lines += ["| key | Java | ours | meaning |", "| --- | --- | --- | --- |"]
        lines += rows(part, config, java[part])
    unused = sorted((BROKER_KEYS | USER_KEYS | NAMESRV_KEYS | CONTROLLER_KEYS) - used)
    lines += ["", "## Accepted without effect", ""]
    lines += [
        "RocketMQ has these settings, and they change nothing here. The log names those that are",
        "given; a value that would move data or open access is refused.",
        "",
    ]
    lines += textwrap.wrap(", ".join(f"`{key}`" for key in unused), 100)
    return "\n".join(lines) + "\n"
