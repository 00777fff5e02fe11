"""Data Docs whose bytes follow from what was validated.

Great Expectations puts the time of rendering and random ids of page elements into every page. They are
replaced, so that the same input gives the same pages; when a suite ran is in the manifest. The pages are
evidence all the same, and no part of the dataset's digest: another release of Great Expectations may
render them otherwise.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Run time given to every validation."""

_TIME = re.compile(r"\b20\d{6}T\d{6}\.\d{6}Z")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b")
_REMOTE_LOGO = re.compile(r"https://great-expectations-web-assets\.s3[^\"')]*")


def normalise(site: Path) -> None:
    """Rewrite every page of a site in place. Also takes out the remote image that reports each view."""
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        here = "../" * (len(page.relative_to(site).parts) - 1)
        text = _REMOTE_LOGO.sub(rf"{here}static/images/logo-long.png", text)
        text = _TIME.sub(EPOCH.strftime("%Y%m%dT%H%M%S.%fZ"), text)
        for position, name in enumerate(dict.fromkeys(_UUID.findall(text))):
            text = text.replace(name, f"element-{position:04d}")
        page.write_text(text, encoding="utf-8")
