"""The documents as a site: `make site` builds it, and it fetches nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FETCHED = re.compile(
    r"""<(?:script|img|iframe|link\b(?![^>]*rel="?canonical))[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>
      | url\(["']?(?:https?:)?//[^)]*\)""",
    re.VERBOSE,
)
PAGES = ("index", "tour/index", "zh/index", "howto/index", "cli/index", "api/index", "wire/index")


def test_make_site_builds_every_page_and_none_fetches_from_another_host(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = ["make", "-s", "site", f"SITE={site}", f"PYTHON={sys.executable}"]

    # With --strict a page outside of the menu, a link or a heading that is missing is an error.
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert [name for name in PAGES if not (site / f"{name}.html").exists()] == []
    fetched = {
        found
        for suffix in ("html", "css")
        for path in site.rglob(f"*.{suffix}")
        for found in FETCHED.findall(path.read_text())
    }
    assert fetched == set()
