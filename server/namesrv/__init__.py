"""The name server: which brokers there are, and which topics each of them has.

Registrations of brokers and questions of clients come in; routes go out. Start with
``routes.RouteTable``; ``handlers`` has a function for each request code.
"""
