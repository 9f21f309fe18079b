"""The settings of a client: its own, combined with those of the proxy and of its group.

    producer    attempts and pauses of the proxy, largest body
    consumer    attempts and pauses of its group, whether it is consumed in order, long polling

Rule: nothing here sends a request or waits; the caller passes the settings of the group.

Source: proxy/grpc/v2/common/GrpcClientSettingsManager.java (5.4.0).
"""

from dataclasses import replace

from mqserver.proxy.cluster import PAUSES_MS, ConsumerGroupSettings
from mqserver.proxy.protocol.definitions import (
    CustomizedBackoff,
    ExponentialBackoff,
    Metric,
    Publishing,
    RetryPolicy,
    Settings,
    Subscription,
)
from mqserver.proxy.proxy_config import ProxyConfig

NEW_GROUP = ConsumerGroupSettings(
    retry_max_times=16, is_fifo=False, exponential=None, pauses_ms=PAUSES_MS
)
"""The settings of a group that no broker knows yet."""


def complete(sent: Settings, config: ProxyConfig) -> Settings:
    """Return the settings that a client sent, with defaults for what a consumer left out."""
    subscription = sent.subscription
    if subscription is None:
        return sent
    usual = _of_consumer(Settings(subscription=Subscription()), NEW_GROUP, config)
    assert usual.subscription is not None
    own = {
        name: given
        for name in ("fifo", "receive_batch_size", "long_polling_timeout")
        if (given := getattr(subscription, name)) is not None
    }
    merged = replace(
        usual.subscription,
        group=subscription.group,
        subscriptions=subscription.subscriptions,
        lite_subscription_quota=subscription.lite_subscription_quota,
        max_lite_topic_size=subscription.max_lite_topic_size,
        **own,
    )
    policy = usual.backoff_policy if sent.backoff_policy is None else sent.backoff_policy
    return replace(sent, subscription=merged, backoff_policy=policy)


def effective_settings(
    sent: Settings, group: ConsumerGroupSettings | None, config: ProxyConfig
) -> Settings:
    """Return the effective settings of a client.

    Args:
        sent: what the client sent, with defaults.
        group: the settings of its consumer group; None when no broker answers.
        config: the settings of the proxy.
    """
    effective = sent
    if sent.publishing is not None:
        effective = _of_producer(sent, sent.publishing, config)
    elif sent.subscription is not None and group is not None:
        effective = _of_consumer(sent, group, config)
    return replace(effective, metric=Metric(on=False))


def _of_producer(sent: Settings, publishing: Publishing, config: ProxyConfig) -> Settings:
    return replace(
        sent,
        backoff_policy=RetryPolicy(
            max_attempts=config.producer_max_attempts,
            exponential_backoff=ExponentialBackoff(
                initial=config.producer_backoff_initial_ms,
                max=config.producer_backoff_max_ms,
                multiplier=config.producer_backoff_multiplier,
            ),
        ),
        publishing=replace(
            publishing,
            validate_message_type=config.enable_topic_message_type_check,
            max_body_size=config.max_message_size,
        ),
    )


def _of_consumer(sent: Settings, group: ConsumerGroupSettings, config: ProxyConfig) -> Settings:
    assert sent.subscription is not None
    policy = RetryPolicy(max_attempts=group.retry_max_times + 1)
    if group.exponential is not None:
        initial_ms, max_ms, factor = group.exponential
        policy.exponential_backoff = ExponentialBackoff(
            initial=initial_ms, max=max_ms, multiplier=factor
        )
    else:
        policy.customized_backoff = CustomizedBackoff(next=list(group.pauses_ms))
    return replace(
        sent,
        backoff_policy=policy,
        subscription=replace(
            sent.subscription,
            receive_batch_size=config.long_polling_batch_size,
            long_polling_timeout=config.max_long_polling_ms,
            fifo=group.is_fifo,
        ),
    )
