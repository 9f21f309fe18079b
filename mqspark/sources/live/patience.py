"""How long a read waits for brokers and name servers that are away.

    a server does not answer, or a topic has no route     the question is asked again, after pauses
    any other error                                       is raised at once

A broker that is restarted is away for seconds, and until it has registered again its topics have
no route. A stream, or a task of a batch, has been able to read before, so it waits up to
``retryTimeoutMs``. The first question of a query is not repeated: its address or topic may be
wrong.

Rule: this module waits for nothing and reads no clock.
"""

from dataclasses import dataclass
from typing import Final

from mqclient.errors import ClientError, NoRoute

PAUSE_MIN_S: Final = 0.5
PAUSE_MAX_S: Final = 10.0


@dataclass(slots=True)
class Patience:
    """The failures of one question in a row.

    Attributes:
        limit_s: how long to go on asking, from the first failure on.
        since_s: when that was, by the caller's clock.
        pause_s: the next pause.
    """

    limit_s: float
    since_s: float | None = None
    pause_s: float = PAUSE_MIN_S

    def next_pause_s(self, error: ClientError, *, now_s: float) -> float | None:
        """Return how long to wait before the question is asked again; None to give up.

        Args:
            error: why it failed now.
            now_s: the time, in seconds.
        """
        if self.since_s is None:
            self.since_s = now_s
        left_s = self.since_s + self.limit_s - now_s
        if left_s <= 0 or not (error.retriable or isinstance(error, NoRoute)):
            return None
        pause_s = min(self.pause_s, left_s)
        self.pause_s = min(2 * self.pause_s, PAUSE_MAX_S)
        return pause_s
