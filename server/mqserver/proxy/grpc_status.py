"""The status of an answer to a gRPC client, by the error of its request.

    ProxyRefused             the proxy refuses                its code and text
    an error of mqclient     a broker refused, or is silent   the code for it, the broker's text

Rule: codes and texts are those of the proxy of 5.4.0, including the name of the Java class that
some of its texts begin with, because clients look at both. Any other error is logged and answered
with INTERNAL_SERVER_ERROR.

Source: proxy/grpc/v2/common/ResponseBuilder.java, GrpcProxyException.java (5.4.0).
"""

import logging
from typing import Final

from mqclient.errors import ClientError, NoRoute, TimedOut
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.definitions import Status
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)

_JAVA_NAME: Final = "org.apache.rocketmq.proxy.common.ProxyException"
_FAQ: Final = (
    "\nFor more information, please visit the url, "
    "https://rocketmq.apache.org/docs/bestPractice/06FAQ"
)

_OF_BROKER: Final[dict[int, Code]] = {
    ResponseCode.SUCCESS: Code.OK,
    ResponseCode.SYSTEM_BUSY: Code.TOO_MANY_REQUESTS,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: Code.NOT_IMPLEMENTED,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: Code.CONSUMER_GROUP_NOT_FOUND,
    ResponseCode.TOPIC_NOT_EXIST: Code.TOPIC_NOT_FOUND,
}


class ProxyRefused(Exception):
    """The proxy refuses a request."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code


def refused_inside(code: Code, text: str) -> ProxyRefused:
    """Return a refusal that Java raises below its gRPC layer, with the text that it has there."""
    return ProxyRefused(code, f"{_JAVA_NAME}: {text}")


def ok() -> Status:
    """Return the status of success."""
    return Status(code=Code.OK, message=Code.OK.name)


def status_of(error: Exception) -> Status:
    """Return the status for an error."""
    if isinstance(error, ProxyRefused):
        return Status(code=error.code, message=str(error))
    if isinstance(error, NoRoute):
        # A name server of ours or of Java ends its text with a hint, which Java's client replaces.
        remark = error.remark.partition("\n")[0]
        text = f"CODE: {error.code}  DESC: {remark}{_FAQ}"
        return Status(code=Code.TOPIC_NOT_FOUND, message=text)
    if isinstance(error, TimedOut):
        return Status(code=Code.PROXY_TIMEOUT, message=str(error))
    if isinstance(error, ClientError) and error.code is not None:
        return broker_status(error.code, error.remark)
    if not isinstance(error, ClientError):
        LOG.error("a request of a gRPC client failed", exc_info=error)
    return Status(code=Code.INTERNAL_SERVER_ERROR, message=str(error) or type(error).__name__)


def broker_status(code: int, remark: str | None) -> Status:
    """Return the status for the response code of a broker."""
    status = _OF_BROKER.get(code, Code.INTERNAL_SERVER_ERROR)
    return Status(code=status, message=remark if remark is not None else str(code))
