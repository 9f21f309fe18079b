"""Calling the listener of a push consumer, concurrently or in order.

Messages of a process queue enter; the listener's status decides whether they are consumed, sent
back to the broker, or tried again here. A ``Router`` is a listener that calls a handler by topic
and tag, with a typed body.

Start reading with ``consume_concurrently.py``; ``listeners.py`` has what an application implements.
"""
