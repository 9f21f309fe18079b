"""The gRPC endpoint of RocketMQ 5, in front of any brokers.

    port ── http2 ── methods ── service ──┬── routing, sending, receiving ──┬── cluster ── brokers
                                          └── clients ──────────────────────┘

``port`` listens, ``http2`` makes calls of bytes, and ``service`` has the methods, of which three
modules have the work. ``clients`` are those that are connected, ``cluster`` what is known of
brokers, topics and groups. ``protocol`` has the messages, and how they are written.

Start reading with ``service.py``.
"""
