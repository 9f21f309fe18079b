"""Message filters of consumers: tag expressions and SQL92 expressions.

The text of an expression becomes a test of messages. Start with ``messagefilter``; ``sql``
parses, ``terms`` and ``values`` evaluate, and ``table`` keeps the expressions of groups.
"""
