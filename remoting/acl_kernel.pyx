# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Reads from a header in C what proves its sender: access key, signature, and what was signed.

Rule: optional; what is read is what ``remoting.acl`` makes of the decoded request. None stands for
what only the general way can tell: a header that ``header_pairs`` leaves, a name that is not ASCII,
a value that is not UTF-8, and ``_UNIQUE_KEY_QUERY``, with which there are two ways to sign.

Source: as ``remoting.acl``.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy
from remoting.header_pairs cimport (
    Bytes,
    Header,
    Pair,
    Span,
    is_ascii,
    is_utf8,
    is_word,
    read_header,
    sort_pairs,
)

from remoting import acl

cdef object Proof = acl.Proof
# This takes half the time of calling the class.
cdef object new_tuple = tuple.__new__
assert (acl.ACCESS_KEY, acl.SIGNATURE, acl.UNIQUE_KEY_QUERY) == (
    "AccessKey", "Signature", "_UNIQUE_KEY_QUERY",
)


cdef object proof_of(Header *header, const Span *body):
    """Return the ``Proof`` of a request, None if the general way has to tell; sorts the pairs."""
    cdef Pair *pair
    cdef int at
    cdef Py_ssize_t size = body.size
    cdef bytes content
    cdef uint8_t *out
    access_key, signature = None, b""
    sort_pairs(header)
    for at in range(header.count):
        pair = &header.pairs[at]
        if not is_ascii(pair.name) or is_word(&pair.name, b"_UNIQUE_KEY_QUERY", 17):
            return None
        # Bytes that are not UTF-8 are signed as what replaces them.
        if not is_utf8(pair.value):
            return None
        if is_word(&pair.name, b"AccessKey", 9):
            access_key = PyUnicode_DecodeUTF8(<char *> pair.value.at, pair.value.size, NULL)
        elif is_word(&pair.name, b"Signature", 9):
            signature = PyBytes_FromStringAndSize(<char *> pair.value.at, pair.value.size)
            pair.value.size = 0
        size += pair.value.size
    content = PyBytes_FromStringAndSize(NULL, size)
    out = <uint8_t *> PyBytes_AS_STRING(content)
    for at in range(header.count):
        pair = &header.pairs[at]
        memcpy(out, pair.value.at, pair.value.size)
        out += pair.value.size
    memcpy(out, body.at, body.size)
    return new_tuple(Proof, (access_key, signature, content))


def read_proof_compiled(int64_t serialize, bytes data, bytes body):
    """Return what ``read_proof`` returns."""
    cdef Header header
    cdef Span content
    cdef Bytes at = <Bytes> PyBytes_AS_STRING(data)
    content.at, content.size = <Bytes> PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body)
    if not read_header(serialize, at, at + PyBytes_GET_SIZE(data), NULL, &header):
        return None
    return proof_of(&header, &content)
