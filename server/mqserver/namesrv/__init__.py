"""The name server: the routing table of brokers and their topics.

Brokers' registrations and clients' requests come in; routes go out. Start with
``routes.RouteTable``; ``handlers`` has one function for each request code.
"""
