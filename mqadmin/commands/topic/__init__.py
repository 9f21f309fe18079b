"""Commands about topics: list them, show their queues and routes, create, change and delete them.

Changes go through ``mqadmin.changes``, so that they can be previewed and undone; the other modules
ask brokers and name servers.
"""
