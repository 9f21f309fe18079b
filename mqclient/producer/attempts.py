"""Whether a send that failed is tried again, and after which pause.

    retry_backoff_ms > 0    attempts are spread over the time limit: at once at a broker that was
                            not tried yet, then after a pause, which doubles up to 1 s
    retry_backoff_ms = 0    Java's rule: two more attempts at once; only one at a queue that the
                            application chose; ``send_async`` gives up after an answer

A broker that is restarted refuses connections for some seconds, then refuses sends until it has
recovered. Java's three attempts are over within a millisecond; attempts that are spread over the
time limit outlast the restart.

Rule: waiting does not mend a missing permission or a wrong unit, so these refusals are tried again
only as often as in Java. This module waits for nothing and reads no clock.

Source: client/impl/producer/DefaultMQProducerImpl.java#sendDefaultImpl,
client/impl/MQClientAPIImpl.java#onExceptionImpl (4.9.7).
"""

from dataclasses import dataclass
from typing import Final

from mqclient.errors import ClientError
from mqclient.producer.producer_settings import ProducerSettings
from remoting.codes import ResponseCode

JAVA_RETRY_COUNT: Final = 2
"""Java's default of retryTimesWhenSendFailed and retryTimesWhenSendAsyncFailed."""
BACKOFF_MAX_S: Final = 1.0
_LASTING: Final = frozenset(
    {
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
    }
)
"""Refusals that another broker may not repeat, but that the same broker repeats for long."""


@dataclass(slots=True)
class Attempts:
    """The attempts of one message, or one batch.

    Attributes:
        settings: how often, and how fast, attempts follow each other.
        timeout_s: what was left for the current attempt when it began, for error texts.
        deadline_s: when the time of all attempts together is over, by the clock of the loop.
        is_async: True for ``send_async``.
        is_bound: True when the application chose the queue, so that no other one is tried.
        failed_count: how many attempts have failed.
        avoid: the broker of the last attempt; None before the first one ended.
    """

    settings: ProducerSettings
    timeout_s: float
    deadline_s: float
    is_async: bool
    is_bound: bool
    failed_count: int = 0
    avoid: str | None = None

    @property
    def not_safe_is_tried_again(self) -> bool:
        """Whether a message that is stored, but not safely, is sent to another broker as well."""
        if not self.settings.retry_another_broker_when_not_store_ok or self.is_async:
            return False
        count = self.settings.retry_times_when_send_failed
        limit = JAVA_RETRY_COUNT if count is None else count
        return not self.is_bound and self.failed_count < limit

    def pause_s(self, error: ClientError, *, broker_count: int, now_s: float) -> float | None:
        """Return the pause before the next attempt in seconds; None when there is none.

        Args:
            error: of the attempt that has just failed and is not counted yet.
            broker_count: how many brokers have queues of the topic.
            now_s: the time by the clock of the loop.
        """
        if not self._allows(error) or self.failed_count >= self._limit(error.code):
            return None
        pause_s = 0.0
        tried_all = self.is_bound or self.failed_count + 1 >= broker_count
        if tried_all and self.settings.retry_backoff_ms:
            rounds = self.failed_count if self.is_bound else self.failed_count + 1 - broker_count
            # The exponent is limited, because a float cannot hold 2 to the power of thousands.
            pause_s = self.settings.retry_backoff_ms / 1000 * 2.0 ** min(rounds, 32)
            pause_s = min(pause_s, BACKOFF_MAX_S)
        return pause_s if now_s + pause_s < self.deadline_s else None

    def failed(self, broker_name: str | None) -> None:
        """Count an attempt that failed at a broker; None stands for no broker."""
        self.failed_count += 1
        self.avoid = broker_name

    def _allows(self, error: ClientError) -> bool:
        if error.code is None:
            return error.retriable
        is_as_java = not self.settings.retry_backoff_ms
        if self.is_async and is_as_java:
            return False
        return error.code in self.settings.retry_response_codes

    def _limit(self, code: int | None) -> float:
        """Return how many attempts may follow the first one."""
        settings = self.settings
        if self.is_async:
            count = settings.retry_times_when_send_async_failed
        elif self.is_bound and not settings.retry_backoff_ms:
            return 0
        else:
            count = settings.retry_times_when_send_failed
        if count is not None:
            return count
        if not settings.retry_backoff_ms or code in _LASTING:
            return JAVA_RETRY_COUNT
        return float("inf")
