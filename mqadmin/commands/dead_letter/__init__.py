"""Commands about dead letters: the messages that a consumer group has given up (``%DLQ%group``).

They are listed by group, shown one by one, and sent to their group again.
"""
