"""Write to a database and send a message, both or neither.

    half message stored --> row and outbox key in one SQLite transaction --> commit

The broker asks later when the process died in between: the key in the outbox table is the
answer. python -m examples.transactional_outbox 127.0.0.1:9876 orders.db
"""

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from mqclient import LocalTransactionState, Message, MessageExt, MQClient, TransactionProducer

TOPIC = "ExamplePaid"


class Outbox:
    """The local side: orders, and which messages were sent along with them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY)")
            database.execute("CREATE TABLE IF NOT EXISTS outbox (key TEXT PRIMARY KEY)")

    def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
        """Pay the order; an error rolls back here, and UNKNOW makes the broker ask."""
        with closing(sqlite3.connect(self._path)) as database, database:
            database.execute("INSERT INTO orders VALUES (?)", (str(arg),))
            database.execute("INSERT INTO outbox VALUES (?)", (message.keys_text,))
        return LocalTransactionState.COMMIT_MESSAGE

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Look into the outbox: what is there was committed."""
        with closing(sqlite3.connect(self._path)) as database:
            found = database.execute(
                "SELECT 1 FROM outbox WHERE key = ?", (" ".join(message.keys),)
            ).fetchone()
        if found:
            return LocalTransactionState.COMMIT_MESSAGE
        return LocalTransactionState.ROLLBACK_MESSAGE


async def main(namesrv: str, path: Path) -> None:
    """Pay one order twice: the second time the database refuses, and no message is seen."""
    async with (
        MQClient(namesrv) as client,
        TransactionProducer(client, "outbox", Outbox(path)) as producer,
    ):
        for key in ("paid-1", "paid-1-again"):
            message = Message(TOPIC, b"order 1 is paid", keys=[key])
            result = await producer.send_message_in_transaction(message, "order-1")
            print(key, result.state.name, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
