# cython: language_level=3
"""What proves the sender of a request, for the kernels that have read its header."""

from remoting.header_pairs cimport Header, Span


cdef object proof_of(Header *header, const Span *body)
