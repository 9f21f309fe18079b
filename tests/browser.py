"""Looks at a page with a real browser: what it made of it, and a picture."""

import re
import shutil
from pathlib import Path

import pytest

from tests.programs import ran

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def drawn(
    page: Path, directory: Path, *, dark: bool = False, width: int = 1100, height: int = 2400
) -> str:
    """Return the document as the browser has it, after it drew the page without a complaint.

    The picture is ``page.png`` in ``directory``. A machine without a browser skips the test.
    """
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no chromium found: " + ", ".join(BROWSERS))
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--enable-logging=stderr", "--log-level=0", f"--window-size={width},{height}",
        f"--user-data-dir={directory / 'profile'}",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]  # fmt: skip

    dump = ran(*command, "--dump-dom", page.as_uri())
    shot = directory / "page.png"
    ran(*command, f"--screenshot={shot}", page.as_uri())
    assert not re.findall(r".*CONSOLE.*", dump.stderr)
    assert shot.read_bytes().startswith(b"\x89PNG")
    return dump.stdout
