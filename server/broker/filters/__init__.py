"""What a consumer wants of a topic: tag expressions and SQL92 expressions.

An expression comes in as text and a test of messages comes out. Start with ``messagefilter``;
``sql`` parses, ``terms`` and ``values`` evaluate, ``table`` keeps the expressions of groups.
"""
