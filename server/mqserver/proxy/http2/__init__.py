"""HTTP/2 and gRPC for the endpoint: from the bytes of a connection to calls and back.

    hpack ── names and values of a header block      frames ── kinds, settings, how each is written
    connection, stream ── one connection, and its streams: flow control
    calls ── a stream as gRPC sees it: messages, deadlines, statuses

Bytes enter ``Http2Connection.data_received``; a ``GrpcMethod`` gets a ``GrpcCall`` and returns its
answer. Start reading at ``connection``; docs/grpc.md and docs/decisions/0011-grpc-endpoint.md say
why this is not a library.
"""
