"""Key values: request codes 100, 101, 102 and 219.

Source: namesrv/processor/DefaultRequestProcessor.java.
"""

from mqserver.namesrv.kvconfig import BadKey
from mqserver.namesrv.namesrv_state import NamesrvState
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    DeleteKVConfig,
    GetKVConfig,
    GetKVConfigResponse,
    GetKVListByNamespace,
    PutKVConfig,
)


@handles(RequestCode.PUT_KV_CONFIG)
def put_kv_config(state: NamesrvState, request: Request) -> Command:
    """Set one key; it is on the disk before the answer is sent.

    Raises:
        RequestRefused: the namespace, key or value is not valid.
    """
    header = request.command.header(PutKVConfig)
    try:
        state.kv.set_value(header.namespace, header.key, header.value)
    except BadKey as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    return request.command.response()


@handles(RequestCode.GET_KV_CONFIG)
def get_kv_config(state: NamesrvState, request: Request) -> Command:
    """Answer with one value, or code 22 if the key is not set."""
    header = request.command.header(GetKVConfig)
    value = state.kv.get(header.namespace, header.key)
    if value is not None:
        return request.command.response(header=GetKVConfigResponse(value=value))
    return request.command.response(
        ResponseCode.QUERY_NOT_FOUND,
        remark=f"No config item, Namespace: {header.namespace} Key: {header.key}",
        header=GetKVConfigResponse(),
    )


@handles(RequestCode.DELETE_KV_CONFIG)
def delete_kv_config(state: NamesrvState, request: Request) -> Command:
    """Remove one key; a missing key is not an error."""
    header = request.command.header(DeleteKVConfig)
    state.kv.delete(header.namespace, header.key)
    return request.command.response()


@handles(RequestCode.GET_KVLIST_BY_NAMESPACE)
def get_kv_list(state: NamesrvState, request: Request) -> Command:
    """Answer with all keys of a namespace, or code 22 if it was never used."""
    header = request.command.header(GetKVListByNamespace)
    keys = state.kv.namespace(header.namespace)
    if keys is not None:
        return request.command.response(body=KVTable(table=dict(keys)).encode())
    raise RequestRefused(
        ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {header.namespace}"
    )
