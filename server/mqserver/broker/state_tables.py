"""Which state file has which table of a broker, and when it is written.

    topics.json, subscriptionGroup.json, messageRequestMode.json,
    authUsers.json                                                   at each change (``files.mark``)
    consumerOffset.json, delayOffset.json, consumerFilter.json       periodically, if changed

Rule: no file is saved before all files are loaded. ``is_needed`` files are also written when the
broker stops, so that every store has them after its first start.

Source: broker/BrokerController.java#initialize (4.9.7).
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from mqserver.broker.acl.acl_files import OwnerOnly
from mqserver.broker.acl.user_access import UserAccess
from mqserver.broker.acl.users import FILE_NAME as USERS_FILE
from mqserver.broker.files.live_settings import FILE_NAME as SETTINGS_FILE
from mqserver.broker.files.loads import offset_files
from mqserver.broker.files.saves import Write
from mqserver.broker.files.topic_files import TopicFiles
from mqserver.broker.pop.modes import FILE_NAME as REQUEST_MODES
from mqserver.broker.state import Broker
from mqserver.broker.timer.metrics import FILE_NAME as TIMER_METRICS
from mqserver.runtime.jsonfile import write_atomic
from mqserver.runtime.periodic import Services
from storefmt.paths import StorePaths

FILTERS_MS: Final = 10_000
TOPICS_MS: Final = 5_000


class StateTables:
    """The tables of one broker that are saved as JSON.

    Args:
        broker: has the tables, and ``files``, which writes them.
        paths: of the store.
    """

    def __init__(self, broker: Broker, paths: StorePaths) -> None:
        self._broker = broker
        self._paths = paths
        self._topic_files = TopicFiles(paths, broker.topics.table)

    def open(self) -> None:
        """Declare every file, and let what is marked be written; call it after the load."""
        broker, files, file = self._broker, self._broker.files, self._paths.config_file
        self._paths.config.mkdir(parents=True, exist_ok=True)
        files.add_written(self._topic_files.path, self._topic_files.snapshot)
        files.add(file("subscriptionGroup.json"), lambda: broker.groups.table().encode)
        files.add(
            file(offset_files(broker.config.store)[0]),
            lambda: broker.saved_offsets().encode,
            name="consumerOffset",
        )
        files.add(file("delayOffset.json"), lambda: broker.delay.durable_offsets().encode)
        files.add(
            file("consumerFilter.json"),
            lambda: partial(str, broker.filters.encode(broker.clock.now_ms())),
        )
        files.add(
            file(REQUEST_MODES), lambda: partial(str, broker.pops.modes.text()), is_needed=False
        )
        metrics, settings = broker.timer.metrics, broker.settings
        metrics.load(file(TIMER_METRICS))
        files.add(file(TIMER_METRICS), lambda: partial(str, metrics.encode()), is_needed=False)
        files.add(
            settings.path,
            lambda: partial(str, settings.text()),
            name=SETTINGS_FILE,
            is_needed=bool(settings.changed),
        )
        files.open()

    def open_users(self) -> None:
        """Declare the file of the users of ACL 2.0, if there are any, and save the first ones."""
        access = self._broker.access
        if not isinstance(access, UserAccess):
            return
        path = self._paths.config_file(USERS_FILE)

        def snapshot() -> Callable[[Write], None]:
            users = access.users.snapshot()
            # It has passwords, so only the owner of the process may read it.
            return lambda write: write_atomic(path, users.encode(), files=OwnerOnly())

        self._broker.files.add_written(path, snapshot)
        self._broker.files.mark(path.stem)

    def schedule(self, services: Services) -> None:
        """Save periodically what has changed."""
        config, every = self._broker.config, services.every
        every(
            lambda: config.flush_consumer_offset_interval_ms,
            self._save_offsets,
            name="consumer offsets",
        )
        every(
            lambda: config.flush_delay_offset_interval_ms,
            self._save_delay_offsets,
            name="delay offsets",
        )
        every(TOPICS_MS, self._complete_topics, name="topics")
        every(FILTERS_MS, self._save_filters, name="filters")

    def _save_offsets(self, now_ms: int) -> None:
        self._broker.files.mark_changed("consumerOffset", self._broker.offsets.change_count)

    def _save_delay_offsets(self, now_ms: int) -> None:
        self._broker.delay.settle()
        self._broker.files.mark_changed("delayOffset", self._broker.delay.change_count)

    def _complete_topics(self, now_ms: int) -> None:
        if self._topic_files.has_changes:
            self._topic_files.complete()
            self._broker.files.mark("topics")

    def _save_filters(self, now_ms: int) -> None:
        self._broker.files.mark_changed("consumerFilter", self._broker.filters.change_count)

    async def close(self) -> None:
        """Write every file a last time.

        Raises:
            OSError: a file could not be written; the others were.
        """
        self._topic_files.complete()
        await self._broker.files.close()
