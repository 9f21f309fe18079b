"""What every server needs: clock, settings, process, timers, limits and request dispatch.

Nothing here knows a broker or a name server. Start with ``service.Services`` for timers,
``settings`` for configuration files, and ``slices`` for work that must not hold the event loop.
"""
