"""The request handlers of the controller: one function for each request code.

``brokers`` has the requests of brokers, and ``tools`` those of operators.
"""
