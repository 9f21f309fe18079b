"""One function for each request code of a controller.

``brokers`` has the requests of brokers, and ``tools`` those of operators.
"""
