"""One function for each request code of the broker.

A decoded request comes in and its answer goes out; what the answer needs is in
``server.broker.state.Broker``. Handlers do not import each other. A new request code begins
here: write a function with ``@handles(RequestCode.X)``.
"""
