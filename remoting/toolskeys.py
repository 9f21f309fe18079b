"""The keys in ``conf/tools.yml``, with which the Java tools sign their requests.

    accessKey: rocketmq2
    secretKey: 12345678

Rule: the two plain lines are read without a YAML parser; all other lines are ignored.

Source: acl/common/AclUtils.java#getAclRPCHook.
"""

import re
from typing import Final

TOOLS_FILE: Final = "conf/tools.yml"
"""The path of the file below ROCKETMQ_HOME."""

_LINE: Final = re.compile(r"^\s*(accessKey|secretKey)\s*:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)


def tools_keys(text: str) -> tuple[str | None, str | None]:
    """Return access key and secret key, each None if the text does not have it."""
    keys = dict(_LINE.findall(text))
    return keys.get("accessKey"), keys.get("secretKey")
