"""The gRPC endpoint of RocketMQ 5, in front of any brokers.

    front ── grpc_server ── service ──┬── routing, sending, receiving ──┬── cluster ── brokers
                                      └── clients ──────────────────────┘

``front`` is the port and ``service`` the methods, of which three modules have the work. ``clients``
are those that are connected, ``cluster`` what is known of brokers, topics and groups. ``protocol``
has the messages, and how they are written.

Start reading with ``service.py``. Only ``grpc_server`` imports grpcio, and it is loaded when the
first client connects.
"""
