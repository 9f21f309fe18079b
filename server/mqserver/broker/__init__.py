"""The broker: it answers the requests of clients and keeps their messages in a store.

``app`` starts and stops it, ``state.Broker`` holds the state of one broker, ``handlers`` has a
function for each request code, and each task has a package: ``send``, ``pull``, ``delay``,
``transaction``, ``clients``, ``filters``, ``acl``, ``ha``. Start with ``broker_context``, which
says what each of them gets, then ``handlers/send.py``.
"""
