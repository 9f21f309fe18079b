"""Admin calls: everything that an operator, or Java's mqadmin, may ask of servers.

Each method is one request to a broker or a name server; addresses and names enter, typed bodies
of ``remoting.bodies`` leave. Producers and consumers also offer a few of these calls, through
``queries.py``.

Start reading with ``admin.py``, which joins the families, and ``calls.py``, which sends.
"""
