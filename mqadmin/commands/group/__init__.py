"""Commands about consumer groups: their settings, their members, and how far they are behind.

``lag``, ``tps``, ``show`` and ``running`` read what brokers and members report. Changes go through
``mqadmin.changes``, so that they can be previewed and undone. Offsets have a noun of their own.
"""
