"""Delayed messages: they wait in the schedule topic until the delay of their level has passed.

A message with a delay level is put again under its own topic, once, when it is due. Start with
``schedule.DelayService``; ``delivered`` finds in the log which messages were delivered before a
crash.
"""
