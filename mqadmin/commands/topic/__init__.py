"""Commands about topics: list them, show their queues and routes, create, change and delete them.

``settings.py``, ``order_conf.py`` and ``delete.py`` change topics by way of ``mqadmin.changes``;
the other modules ask brokers and name servers.
"""
