"""The gRPC endpoint of RocketMQ 5, in front of any brokers.

    port ── http2 ── service ──┬── routing, sending, receiving ──┬── cluster ── brokers
                               └── clients ──────────────────────┘

``port`` listens, ``http2`` makes calls of bytes, and ``service`` has the methods, whose work is in
``routing``, ``sending`` and ``receiving``. ``clients`` knows the connected clients, and ``cluster``
the brokers, topics and groups. ``protocol`` has the messages and their encoding.

Start reading with ``service.py``.
"""
