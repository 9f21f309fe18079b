"""Lets Spark find ``format("rocketmq_store")`` by the name of this module."""

from contextlib import suppress

# An error here would take all Python sources from a session, also those of other packages.
with suppress(ImportError):
    from mqspark.sources.store.source import RocketmqStore as DefaultSource  # noqa: F401 - for Spark
