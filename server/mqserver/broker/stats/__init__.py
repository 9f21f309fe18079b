"""The statistics of a broker, for `mqadmin` and for the real RocketMQ console.

Counts of messages and bytes come in; totals, rates and percentiles go out. Start with
``counters.Statistics``.
"""
