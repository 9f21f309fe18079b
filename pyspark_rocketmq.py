"""Lets Spark find ``format("rocketmq")`` by the name of this module."""

from contextlib import suppress

# An error here would take all Python sources from a session, also those of other packages.
with suppress(ImportError):
    from mqspark.sources.live.source import Rocketmq as DefaultSource  # noqa: F401 - for Spark
