"""The broker, the name server and the filter server, and what they share.

Sockets and a store directory come in; each server is a process (``mqbroker``, ``mqnamesrv``)
or part of one (``embedded``). Start with ``broker.app`` or ``namesrv.app``; ``store`` holds
messages and ``runtime`` has clocks, settings and processes.
"""
