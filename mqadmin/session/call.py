"""The context of a command besides its arguments: servers, store, settings, questions.

The name servers come from the first of these that is set:

    -n/--namesrv   `connect` in the shell   --context NAME   NAMESRV_ADDR   current context

Keys come from --access-key, MQADMIN_ACCESS_KEY, the context, or Java's conf/tools.yml.

Rule: a command reaches the outside only through its ``Call``, so that tests can replace it; the
clock is ``now_ms``.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from mqadmin.errors import CommandError, Usage
from mqadmin.session.console import Console
from mqadmin.session.contexts import Context, ContextFile, keys_of_java, secret_of
from mqadmin.session.global_options import (
    COMPAT_VARIABLE,
    HONEST,
    TIMEOUT_S_DEFAULT,
    GlobalOptions,
)
from mqadmin.session.link import ServerLink, ServerTarget

if TYPE_CHECKING:
    from pathlib import Path

    from mqadmin.session.journal import SavedState
    from mqclient.admin.admin import Admin
    from mqclient.admin.topic import TopicCalls
    from mqclient.client.instance import MQClient


T = TypeVar("T")


@dataclass(slots=True)
class Memory:
    """What a command keeps from one tick of ``--watch`` to the next: one object a class."""

    _kept: dict[type, object] = field(default_factory=dict)

    def of(self, kind: Callable[[], T]) -> T:
        """Return the object of the class ``kind``, made on first use."""
        return cast(T, self._kept.setdefault(cast(type, kind), kind()))


@dataclass(slots=True)
class Workplace:
    """What lasts from one command of the shell to the next.

    Attributes:
        namesrv: set by ``connect``.
        label: what the prompt calls these servers instead of their address.
        store: directory set by ``store open``.
        output: set by ``set output``.
        topic: set by ``use topic``.
        pause: waits so many seconds between two ticks of ``--watch``.
    """

    link: ServerLink = field(default_factory=ServerLink)
    namesrv: str | None = None
    label: str | None = None
    context: str | None = None
    store: str | None = None
    output: str | None = None
    topic: str | None = None
    pause: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Call:
    """One run of one command.

    Attributes:
        memory: the same object for every tick of ``--watch``.
        spelled: the name on the line: RocketMQ's own, or that of the command.
        has_address: a broker is named by its address, so that no name server is needed to find it.
    """

    settings: GlobalOptions
    console: Console
    workplace: Workplace
    store: str | None = None
    memory: Memory = field(default_factory=Memory)
    spelled: str = ""
    has_address: bool = False

    @property
    def is_watched(self) -> bool:
        """Return whether the rows are one tick of ``--watch``."""
        return self.settings.watch is not None

    @property
    def has_color(self) -> bool:
        """Return whether rows are coloured: a person reads them, and did not refuse it."""
        console = self.console
        return console.out_is_tty and not self.settings.no_color and "NO_COLOR" not in console.env

    @property
    def deletes_as_java(self) -> bool:
        """Return whether deleting something that does not exist succeeds, as scripts for Java
        expect."""
        words = {self.settings.compat, self.console.env.get(COMPAT_VARIABLE)}
        return bool(self.settings.compat) and HONEST not in words

    @property
    def dry_run(self) -> bool:
        """Return whether nothing may be changed."""
        return self.settings.dry_run

    @property
    def store_dir(self) -> "Path":
        """Return the store directory of a command with ``Needs.STORE``; errors as below."""
        # A command that asks servers does not need paths.
        from pathlib import Path

        return Path(self.store_uri)

    @property
    def store_uri(self) -> str:
        """Return the store as it was given, which may be a URI such as s3://bucket/name.

        Raises:
            Usage: none was given.
        """
        if self.store is None:
            raise Usage("no store directory given", hint="give it as the first argument, DIR")
        return self.store

    @property
    def is_offline(self) -> bool:
        """Return whether a command with ``Needs.EITHER`` reads a store directory."""
        return self.store is not None

    def now_ms(self) -> int:
        """Return the time of the machine in epoch ms."""
        return time.time_ns() // 1_000_000

    def warn(self, text: str) -> None:
        """Say one line on standard error."""
        self.console.warn(text)

    def context(self) -> Context | None:
        """Return the context that applies: ``--context``, the shell's, or the current one.

        Raises:
            ItemNotFound: the named one does not exist.
        """
        file = ContextFile.of(self.console.env)
        named = self.settings.context or self.workplace.context
        return file.load().context_named(named)

    def target(self) -> ServerTarget:
        """Return whom to talk to.

        Raises:
            Usage: nothing says so.
        """
        env = self.console.env
        settings = self.settings
        context = self.context()
        if settings.namesrv is not None and not settings.namesrv.strip(",; "):
            raise Usage("-n has no address", hint="give an address, as in -n HOST:PORT, or omit -n")
        namesrv = settings.namesrv or self.workplace.namesrv
        if not namesrv and settings.context and context is not None:
            namesrv = context.namesrv
        namesrv = namesrv or env.get("NAMESRV_ADDR") or (context.namesrv if context else None)
        if not namesrv and not self.has_address:
            raise Usage(
                "no name server given", hint="use -n HOST:PORT, NAMESRV_ADDR or `context use`"
            )
        # What a context says counts for its own servers only.
        own_context = context if context is not None and context.namesrv == namesrv else None
        own_context = own_context or Context("", namesrv or "")
        access = settings.access_key or env.get("MQADMIN_ACCESS_KEY") or own_context.access_key
        secret = settings.secret_key or env.get("MQADMIN_SECRET_KEY")
        secret = secret or secret_of(own_context.secret_key, env)
        if access is None and secret is None:
            access, secret = keys_of_java(env)
        return ServerTarget(
            namesrv=namesrv or "",
            timeout_s=settings.timeout or own_context.timeout_s or TIMEOUT_S_DEFAULT,
            access_key=access,
            secret_key=secret,
            address_map=own_context.address_map,
            tls=own_context.tls,
        )

    def defaults(self) -> Context | None:
        """Return the context whose defaults apply; None if it cannot be read.

        A broken file or name is reported by the command that needs a server, and must not keep
        `context use` from mending it.
        """
        try:
            return self.context()
        except CommandError:
            return None

    async def client(self) -> "MQClient":
        """Return the client for this call's name servers, connected on first use."""
        return await self.workplace.link.client(self.target())

    async def topics(self) -> "TopicCalls":
        """Return the calls about topics and brokers alone: half the start of ``admin``."""
        from mqclient.admin.topic import TopicCalls

        return TopicCalls(await self.client())

    async def admin(self) -> "Admin":
        """Return the admin interface of this call's client."""
        from mqclient.admin.admin import Admin

        return Admin(await self.client())

    async def confirm(self, question: str) -> None:
        """Ask before a destructive write, unless ``-y``; for ``async`` commands.

        Raises:
            Usage: there is no terminal to ask on.
            CommandError: the person said no.
        """
        if self._must_ask(question) and not await self.workplace.link.ask_in_main_thread(
            lambda: self.console.confirm(question)
        ):
            raise CommandError("not confirmed", hint="nothing was changed")

    def keep_old_state(
        self,
        title: str,
        saved: "Sequence[SavedState]",
        *,
        undoes: int | None = None,
        promise: str = "restores the old state",
    ) -> None:
        """Keep the old state before a destructive write, and say how to restore it.

        Args:
            title: the command and what it names; no secrets.
            saved: what ``ChangeTarget.saved`` returned, see ``mqadmin.changes.targets``.
            promise: what `undo` of it does.

        Raises:
            CommandError: it cannot be kept: write nothing.
        """
        # Only a write needs the journal.
        from mqadmin.session.journal import Journal

        entry = Journal.of(self.console.env).add(
            title, saved, namesrv=self.target().namesrv, at_ms=self.now_ms(), undoes=undoes
        )
        self.warn(f"`undo {entry.id}` {promise}")

    def _must_ask(self, question: str) -> bool:
        if self.settings.yes or self.dry_run:
            return False
        if not self.console.can_ask:
            raise Usage(f"cannot ask without a terminal: {question}", hint="add -y to confirm")
        return True
