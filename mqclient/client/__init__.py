"""The client that everything else works on: connections, name servers, routes and heartbeats.

``MQClient`` owns the sockets; a request of any kind goes out through ``MQClient.call`` or
``MQClient.invoke``, and its answer comes back as a typed header, a typed body or a
``ClientError``. The room also answers what brokers ask of this process, and hands such a request
to the producer or consumer that it names.

Start reading with ``instance.py``; ``routes.py`` explains how a topic becomes queues.
"""
