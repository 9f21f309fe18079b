"""The request handlers of the broker: one function for each request code.

    messages in     send, transaction, recall, reply
    messages out    pull, pop, acknowledge, query
    consumers       clients, offsets, progress, reset, locks, request_modes
    administration  topics, groups, broker_settings, acl, relay, unsupported
    replication     replication, group_member, ha_status

A handler gets the ``mqserver.broker.state.Broker`` and a decoded request, and returns the answer,
or None if it answers later. It refuses by raising ``RequestRefused``. Handlers do not import each
other. To add a request code, write a function with ``@handles(RequestCode.X)``.
"""
