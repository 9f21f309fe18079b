"""Check whether a pull is allowed and find its filter, with Java's checks in Java's order.

    consume_steps.PULL_STEPS
       └ all passed ─ does the pull carry an expression? ─ yes ─> the filter of that expression
                                                      └ no ──> the filter of the heartbeats

Rule: the first check that fails decides the answer, with the code and text of the real broker.
If a pull carries an expression that cannot be compiled, the pull gets every message, as with the
real broker, and a warning is logged; with ``strictFilters`` it is refused. An expression that is
longer than this broker evaluates is always refused.

Source: common/protocol/header/PullMessageRequestHeader.java,
broker/processor/PullMessageProcessor.java#processRequest, common/filter/FilterAPI.java.
"""

import logging
from collections.abc import Callable
from typing import Final

from mqserver.broker import names
from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.clients.members import Consumers
from mqserver.broker.filters.lexer import BadExpression, TooLong
from mqserver.broker.filters.messagefilter import (
    EVERYTHING,
    MessageFilter,
    carried_filter,
    carried_tags,
    registered_filter,
    with_retry,
)
from mqserver.broker.filters.table import FilterTable, compile_filter
from mqserver.broker.filters.tags import (
    ALL,
    TAG,
    codes_of_expression,
    codes_of_subscription,
    is_malformed,
    is_tag_type,
)
from mqserver.broker.pull.consume_steps import PULL, PULL_STEPS, Reading
from mqserver.broker.pull.pull_header import Pull
from mqserver.runtime.request import RequestRefused
from remoting.aio.server import ServerConn
from remoting.bodies import MessageModel, SubscriptionData
from remoting.codes import ResponseCode
from remoting.headers import PullMessage
from storefmt.config.tables import SubscriptionGroup

LOG = logging.getLogger(__name__)


PullFields = Pull | PullMessage
"""The header of a pull, as the kernel or the typed header decoded it."""
SUBSCRIPTION: Final = 4
TAGS_SIZE_MAX: Final = 65_536
"""Characters of the tags that a pull carries, since each pull splits them again."""
_WARNED_COUNT_MAX: Final = 1_000
_UNPARSED: Final = "parse the consumer's subscription failed"


class PullChecks:
    """Checks the pulls of one broker.

    Args:
        context: the parts of the broker.
        consumers: the subscriptions of heartbeats.
        filters: the SQL92 filters of heartbeats.
        slave_refusal: returns why a slave serves no pulls; empty when it serves them.
    """

    def __init__(
        self,
        context: BrokerContext,
        *,
        consumers: Consumers,
        filters: FilterTable,
        slave_refusal: Callable[[], str],
    ) -> None:
        self._context = context
        self._consumers = consumers
        self._filters = filters
        self._slave_refusal = slave_refusal
        # The filter of a group's subscription; it holds while the group has the same object.
        self._tests: dict[tuple[str, str], tuple[SubscriptionData, MessageFilter]] = {}
        self._warned: set[tuple[str, str]] = set()

    def suggested_broker(self, group: str, *, is_slow: bool) -> int:
        """Return the id of the broker that a group should read from next.

        Args:
            is_slow: the group reads so far back in the log that a slave should serve it.
        """
        settings = (
            self._context.groups.get(group) if self._context.config.slave_read_enable else None
        )
        if settings is None:
            return 0
        return settings.which_broker_when_consume_slowly if is_slow else settings.broker_id

    def check(self, conn: ServerConn, pull: PullFields, now_ms: int) -> MessageFilter:
        """Return the filter of a pull that is allowed.

        Raises:
            RequestRefused: a check failed; code and text are Java's.
        """
        config = self._context.config
        if config.is_slave and (why := self._slave_refusal()):
            raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, why)
        reading = Reading(
            self._context, PULL, conn, pull.topic, pull.consumer_group, pull.queue_id, now_ms
        )
        for step in PULL_STEPS:
            step(reading)
        group = reading.group_config
        assert group is not None
        carries = pull.sys_flag & SUBSCRIPTION
        tests = self._given(pull) if carries else self._registered(pull, group)
        if config.filter_support_retry:
            return with_retry(tests, pull.topic, self._filters)
        return tests

    def _given(self, pull: PullFields) -> MessageFilter:
        """Return the filter of the expression that the pull itself carries."""
        text, kind = pull.subscription or "", pull.expression_type
        if kind is None or kind == TAG:
            if is_malformed(text):
                raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _UNPARSED)
            if len(text) > TAGS_SIZE_MAX:
                why = f"the tags have {len(text)} characters, the limit is {TAGS_SIZE_MAX}"
                raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, why)
            return carried_tags(codes_of_expression(text))
        if not text:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _UNPARSED)
        if not kind:
            # For a blank type Java splits the expression into no tags, so no message matches.
            return EVERYTHING if text == ALL else MessageFilter(frozenset())
        self._check_enabled(kind)
        try:
            expression = compile_filter(text, kind, strict=self._context.config.strict_filters)
        except BadExpression as error:
            if self._context.config.strict_filters or isinstance(error, TooLong):
                raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None
            self._warn(pull, f"filter {text!r} cannot be compiled and filters nothing: {error}")
            return EVERYTHING
        if expression.ignored:
            self._warn(pull, f"{expression.ignored!r} after the filter is ignored")
        return carried_filter(expression)

    def _warn(self, pull: PullFields, text: str) -> None:
        """Log once per group and expression what the real broker does without a message."""
        key = (pull.consumer_group, pull.subscription or "")
        if key not in self._warned and len(self._warned) < _WARNED_COUNT_MAX:
            self._warned.add(key)
            LOG.warning(
                "group %s, topic %s: %s, as with the real broker; set strictFilters to refuse it",
                pull.consumer_group,
                pull.topic,
                text,
            )

    def _registered(self, pull: PullFields, settings: SubscriptionGroup) -> MessageFilter:
        """Return the filter of the subscription that the group sent in its heartbeats."""
        name = pull.consumer_group
        group = self._consumers.group(name)
        if group is None:
            text = names.see_faq("the consumer's group info not exist")
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, text)
        is_broadcast = group.message_model is MessageModel.BROADCASTING
        if is_broadcast and not settings.consume_broadcast_enable:
            text = f"the consumer group[{name}] can not consume by broadcast way"
            raise RequestRefused(ResponseCode.NO_PERMISSION, text)
        subscription = group.subscriptions.get(pull.topic)
        if subscription is None:
            text = names.see_faq("the consumer's subscription not exist")
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, text)
        if subscription.sub_version < pull.sub_version:
            text = "the consumer's subscription not latest"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_LATEST, text)
        key = (name, pull.topic)
        cached = self._tests.get(key)
        if cached is not None and cached[0] is subscription:
            return cached[1]
        if not is_tag_type(subscription.expression_type):
            return self._by_expression(pull, subscription)
        tests = MessageFilter(codes_of_subscription(subscription))
        self._tests[key] = (subscription, tests)
        return tests

    def _by_expression(self, pull: PullFields, subscription: SubscriptionData) -> MessageFilter:
        registered = self._filters.get(pull.topic, pull.consumer_group)
        if registered is None:
            text = "The broker's consumer filter data is not exist!Your expression may be wrong!"
            text += self._why_too_long(subscription)
            raise RequestRefused(ResponseCode.FILTER_DATA_NOT_EXIST, text)
        if registered.data.client_version < pull.sub_version:
            text = "the consumer's consumer filter data not latest"
            raise RequestRefused(ResponseCode.FILTER_DATA_NOT_LATEST, text)
        self._check_enabled(subscription.expression_type)
        if subscription.class_filter_mode:
            return EVERYTHING
        return registered_filter(registered, self._filters)

    def _why_too_long(self, subscription: SubscriptionData) -> str:
        """Return which limit an expression exceeds; empty if Java would refuse it as well."""
        try:
            compile_filter(
                subscription.sub_string,
                subscription.expression_type,
                strict=self._context.config.strict_filters,
            )
        except TooLong as error:
            return f" {error}"
        except BadExpression:
            # The remark of 4.9.7 already says what is wrong with it.
            return ""
        return ""

    def _check_enabled(self, expression_type: str | None) -> None:
        if not self._context.config.enable_property_filter:
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, names.filter_unsupported(expression_type)
            )
