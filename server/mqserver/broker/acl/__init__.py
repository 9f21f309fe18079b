"""Access control (ACL): accounts from ``plain_acl.yml`` and the permissions of requests.

A request with its signature is accepted or refused. Start with ``gate``; ``rules`` lists the
permissions that each request code needs.
"""
