"""The JSON state files of a broker: read at the start, written while it runs.

Tables come from and go to ``config/*.json`` of the store directory; nothing here knows a
request. Start with ``saves.StateFiles``; ``live_settings`` keeps settings that were changed
over the wire.
"""
