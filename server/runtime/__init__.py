"""The base of every server: clock, settings, process, timers, limits and request dispatch.

Nothing here knows about brokers or name servers. Start with ``service.Services`` for timers,
``settings`` for configuration files, and ``slices`` for long work beside the event loop.
"""
