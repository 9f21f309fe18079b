"""The gRPC protocol of RocketMQ 5, ``apache.rocketmq.v2``: its messages, codes and bytes.

``protobuf`` is the encoding, ``codes`` the enumerations, ``definitions`` what requests have in
common, ``requests`` a request and a response for each method.

Start reading with ``requests.py``.
"""
