"""``controller``: controllers of RocketMQ 5, and the groups that they lead."""
