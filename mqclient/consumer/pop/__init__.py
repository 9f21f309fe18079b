"""Consumption by POP: the broker hides the messages it gives until they are acknowledged.

A subscription and a broker enter; messages leave, each with the receipt handle of its delivery.

Start reading with ``pop_request.py``; ``mqclient/consumer/simple_consumer.py`` uses it.
"""
