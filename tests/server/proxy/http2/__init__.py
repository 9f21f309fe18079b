"""Tests of HTTP/2 and gRPC."""
