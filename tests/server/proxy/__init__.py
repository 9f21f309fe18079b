"""Tests of the gRPC endpoint."""
