"""The base of every server: clock, settings, timers and request dispatch.

    program/    a server as a process: flags, limits, log, event loop
    access/     addresses, and who may change a server

Nothing here knows about brokers or name servers. Start with ``periodic.Services`` for timers,
``typed_config`` for configuration files, and ``slices`` for long work beside the event loop.
"""
