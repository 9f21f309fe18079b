"""Why a message was not stored: each status of a put, with the code and remark of its answer.

Source: broker/processor/SendMessageProcessor.java#handlePutMessageResult (4.9.7).
"""

from typing import Final

from mqserver.runtime.request import RequestRefused
from mqserver.store.results import PutStatus
from remoting.codes import ResponseCode

_ERROR: Final = ResponseCode.SYSTEM_ERROR
ILLEGAL: Final = (
    "the message is illegal, maybe msg body or properties length not matched. msg body "
    "length limit {body_size_max}B, msg properties length limit 32KB."
)
_REFUSALS: Final[dict[PutStatus, tuple[ResponseCode, str]]] = {
    PutStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, ILLEGAL),
    PutStatus.PROPERTIES_SIZE_EXCEEDED: (ResponseCode.MESSAGE_ILLEGAL, ILLEGAL),
    PutStatus.CREATE_MAPPED_FILE_FAILED: (
        _ERROR,
        "{failure}create mapped file failed, server is busy or broken.",
    ),
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: (
        _ERROR,
        "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, lmq "
        "consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w.",
    ),
    PutStatus.OS_PAGE_CACHE_BUSY: (
        _ERROR,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
    ),
}
"""The refusal for each status but SERVICE_NOT_AVAILABLE, whose reason only the store and the role
of the broker know."""
_UNKNOWN: Final = _ERROR, "UNKNOWN_ERROR"


def illegal_remark(body_size_max: int) -> str:
    """Return the remark for a message whose body or properties are too long."""
    return ILLEGAL.format(body_size_max=body_size_max)


def put_refusal(status: PutStatus, *, body_size_max: int, failure: str) -> RequestRefused:
    """Return the refusal of a message that was not put.

    Args:
        status: any but PUT_OK and SERVICE_NOT_AVAILABLE.
        body_size_max: bytes of the largest body (maxMessageSize).
        failure: why the store takes no more messages; empty while it does.
    """
    code, remark = _REFUSALS.get(status, _UNKNOWN)
    why = f"{failure}; " if failure else ""
    # Not ``format``, because the reason of the system may have braces in it.
    remark = remark.replace("{body_size_max}", str(body_size_max)).replace("{failure}", why)
    return RequestRefused(code, remark)
