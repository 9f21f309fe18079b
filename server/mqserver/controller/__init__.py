"""The controller of RocketMQ 5: it knows the replicas of each group and elects their masters.

Frames from brokers and tools enter; answers, and notices to brokers whose role changes, leave.
Start with ``group_record`` (what is known of a group), then ``group_rules`` (what each request
changes), then ``elections``. ``groups_file`` and ``groups_etcd`` keep the records.
"""
