"""What a controller does with each request.

``brokers`` has the requests of brokers, and ``tools`` those of operators.
"""
