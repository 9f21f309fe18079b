"""The JSON state files of a broker: read at the start, written while it runs.

Tables are read from and written to ``config/*.json`` in the store directory. Start with
``saves.StateFiles``; ``live_settings`` keeps the settings that an administrator changed while the
broker ran.
"""
