"""The accounts of a home directory while a server runs: read again when their files change.

    reload: files as they were ─────────────────────────── nothing happens
            files changed since the last reload ────────── noted, and looked at again next time
            files as noted ── read ─┬─ changed meanwhile ─ dropped, next time
                                    ├─ damaged ─────────── the accounts stay as they were
                                    └─ good ────────────── the new accounts count

Rule: a file counts only after two looks saw it alike. An editor that empties a file and writes it
again must not lock every client out, and a file that ends before its last lines may lack a DENY.
"""

import logging

from mqserver.broker.acl.acl_files import AclFiles, AclTable
from storefmt.errors import ConfigDamaged

LOG = logging.getLogger(__name__)


class LiveAccounts:
    """The accounts of one home directory.

    Args:
        files: the account files.

    Attributes:
        table: the accounts that count now.

    Raises:
        ConfigDamaged: a file cannot be read.
    """

    def __init__(self, files: AclFiles) -> None:
        self._files = files
        self._loaded = files.stamp()
        self._seen = self._loaded
        self.table: AclTable = files.load()

    def secret_of(self, access_key: str) -> str | None:
        """Return the secret key of an account; None if there is no such account."""
        account = self.table.accounts.get(access_key)
        return None if account is None else account.secret_key

    def load(self) -> None:
        """Read the files now.

        Raises:
            ConfigDamaged: a file cannot be read; the accounts stay as they were.
        """
        self._loaded = self._seen = self._files.stamp()
        self.table = self._files.load()

    def reload(self, now_ms: int) -> None:
        """Read the files again if they changed and are at rest; ``table`` is a new object then."""
        stamp = self._files.stamp()
        if stamp == self._loaded:
            return
        if stamp != self._seen:
            self._seen = stamp
            return
        try:
            table = self._files.load()
        except ConfigDamaged as error:
            self._loaded = stamp
            LOG.error("the accounts stay as they were: %s", error)
            return
        if self._files.stamp() != stamp:
            return
        self._loaded, self.table = stamp, table
        LOG.info("%d accounts after a change of their files", len(table.accounts))
