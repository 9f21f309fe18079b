"""Commands about consumer groups: their settings, their members, and how far they are behind.

``lag.py``, ``tps.py``, ``show.py`` and ``running.py`` read what brokers and members report.
``settings.py``, ``copy.py``, ``delete.py`` and ``consume_mode.py`` change groups by way of
``mqadmin.changes``, so that a change can be previewed and undone. Offsets have a noun of their own.
"""
