"""The clients of the endpoint: their settings, the messages they work on, open transactions.

``sessions`` has an entry for each client, ``telemetry_settings`` computes its effective settings,
``renewals`` has the messages that it works on, and ``transactions`` the open transactions of all
producers.

Start reading with ``sessions.py``.
"""
