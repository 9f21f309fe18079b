"""The broker: requests of clients in, answers and a message store out.

``app`` starts and stops it, ``state.Broker`` holds all that one broker knows, ``handlers`` has
a function for each request code, and each task has a room: ``send``, ``pull``, ``delay``,
``transaction``, ``clients``, ``filters``, ``acl``, ``ha``. Start with ``handlers/send.py``.
"""
