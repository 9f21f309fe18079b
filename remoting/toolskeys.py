"""The keys in ``conf/tools.yml``, with which the Java tools sign what they ask.

    accessKey: rocketmq2
    secretKey: 12345678

Rule: two plain lines of YAML, read without a YAML reader; other lines do not matter.

Source: acl/common/AclUtils.java#getAclRPCHook.
"""

import re
from typing import Final

TOOLS_FILE: Final = "conf/tools.yml"
"""Where it is, below ROCKETMQ_HOME."""

_LINE: Final = re.compile(r"^\s*(accessKey|secretKey)\s*:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)


def tools_keys(text: str) -> tuple[str | None, str | None]:
    """Return access key and secret key, None for what the text does not say."""
    found = dict(_LINE.findall(text))
    return found.get("accessKey"), found.get("secretKey")
