"""Delayed messages: they wait in the schedule topic until their level has passed.

A message with a delay level comes in and is put under its own topic when it is due, once.
Start with ``schedule.DelayService``; ``delivered`` reads from the log what was delivered
before a crash.
"""
