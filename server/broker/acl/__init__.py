"""Access control: accounts from ``plain_acl.yml`` and what each request needs.

A request with its signature comes in and is let through or refused. Start with ``gate``;
``rules`` lists the rights that each request code asks for.
"""
