"""Under which licence a tree may be used, and the file that proves it.

In order of weight: the SPDX expression of the metadata, a classifier that means one licence, the text of a
licence file, the free-text licence field. Where a declaration and the text disagree, the declaration is
recorded and the evidence says so. With nothing to go by the answer is `NOASSERTION`: never a guess.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from typing import Any

import license_expression

from components.records.repository import Licence

UNKNOWN = "NOASSERTION"

_NAMES = re.compile(r"(licen[cs]e|copying|unlicense)", re.IGNORECASE)


@dataclass(frozen=True)
class _Finding:
    spdx: str
    evidence: str
    content: bytes


def normalise(expression: str) -> str | None:
    """The canonical form of an SPDX expression; None when it is not one.

    Deprecated ids become current ones (`GPL-3.0` is `GPL-3.0-only`), letter case and brackets are canonical.
    """
    try:
        parsed = _licensing().parse(expression, validate=True, strict=True)
    except (license_expression.ExpressionError, license_expression.ParseError, ValueError):
        return None
    return None if parsed is None else str(parsed.simplify().render())


def read_licence(tree: Path) -> Licence:
    """The licence of a repository's tree.

    Several licences with nothing to say how they combine are joined by `AND`: whoever keeps to all of them
    is safe. The digest is of the evidence's files, one after the other.
    """
    declared, texts = _declared(tree), _texts(tree)
    if declared:
        best = declared[0]
        others = [text for text in texts if not _symbols(text.spdx) <= _symbols(best.spdx)]
        note = f" ({others[0].evidence} reads {others[0].spdx})" if others else ""
        return _licence(best.spdx, best.evidence + note, best.content)
    if texts:
        evidence = ", ".join(text.evidence for text in texts)
        return _licence(_all(text.spdx for text in texts), evidence, b"".join(text.content for text in texts))
    return _licence(UNKNOWN, "nothing found", b"")


def _licence(spdx: str, evidence: str, content: bytes) -> Licence:
    return Licence(spdx=spdx, evidence=evidence, evidence_sha256=hashlib.sha256(content).hexdigest())


@cache
def _licensing() -> Any:
    return license_expression.get_spdx_licensing()


def _all(expressions: Iterable[str]) -> str:
    joined = " AND ".join(f"({expression})" for expression in expressions)
    return normalise(joined) or UNKNOWN


def _symbols(expression: str) -> set[str]:
    """The licences of an expression; `or later` does not show in a licence's text, so it is left out."""
    keys = [str(key) for key in _licensing().license_keys(expression)]
    return {key.removesuffix("-only").removesuffix("-or-later") for key in keys}


def _declared(tree: Path) -> list[_Finding]:
    """What the metadata says, heaviest first."""
    found: list[tuple[int, _Finding]] = []
    for name, fields in (("PKG-INFO", _pkg_info(tree)), ("pyproject.toml", _pyproject(tree))):
        content = (tree / name).read_bytes() if fields else b""
        classified = [CLASSIFIERS[value] for _, field, value in fields if value in CLASSIFIERS]
        if classified:
            found.append((1, _Finding(_all(classified), f"{name}: classifiers", content)))
        for rank, field, value in fields:
            spdx = None if field == "classifier" else normalise(value)
            if spdx:
                found.append((rank, _Finding(spdx, f"{name}: {field}", content)))
    return [finding for _, finding in sorted(found, key=lambda pair: pair[0])]


def _pkg_info(tree: Path) -> list[tuple[int, str, str]]:
    path = tree / "PKG-INFO"
    if not path.is_file():
        return []
    headers = HeaderParser().parsestr(path.read_text("utf-8", "replace"))
    classifiers = [str(value) for value in headers.get_all("Classifier", [])]
    return [
        *((0, "License-Expression", str(value)) for value in headers.get_all("License-Expression", [])),
        *((1, "classifier", value) for value in classifiers),
        *((3, "License", str(value)) for value in headers.get_all("License", [])),
    ]


def _pyproject(tree: Path) -> list[tuple[int, str, str]]:
    path = tree / "pyproject.toml"
    if not path.is_file():
        return []
    try:
        project = tomllib.loads(path.read_text("utf-8", "replace")).get("project", {})
    except tomllib.TOMLDecodeError:
        return []
    licence, classifiers = project.get("license"), project.get("classifiers", [])
    fields = [(1, "classifier", str(value)) for value in classifiers]
    if isinstance(licence, str):
        fields.append((0, "project.license", licence))
    elif isinstance(licence, dict) and isinstance(licence.get("text"), str):
        fields.append((3, "project.license.text", licence["text"]))
    return fields


def _texts(tree: Path) -> list[_Finding]:
    """Licence files at the top of the tree whose text is known."""
    found = []
    for path in sorted(tree.iterdir()):
        if path.is_file() and _NAMES.search(path.name):
            content = path.read_bytes()
            spdx = identify(content.decode("utf-8", "replace"))
            if spdx:
                found.append(_Finding(spdx, path.name, content))
    return found


def identify(text: str) -> str | None:
    """The SPDX id of a licence text, by phrases that only it has."""
    words = re.sub(r"[^a-z0-9.]+", " ", text.lower())
    for spdx, present, absent in FINGERPRINTS:
        if all(phrase in words for phrase in present) and not any(phrase in words for phrase in absent):
            return spdx
    return None


_BSD = ("redistribution and use in source and binary forms", "redistributions in binary form must reproduce")
_ENDORSE = "to endorse or promote products"
_PERMISSION = "permission to use copy modify and or distribute this software for any purpose with or without"
_GRANT = "permission is hereby granted free of charge to any person obtaining a copy"
FINGERPRINTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Apache-2.0", ("apache license version 2.0",), (_GRANT, "gnu general public license version")),
    ("AGPL-3.0-only", ("gnu affero general public license version 3",), ()),
    ("LGPL-3.0-only", ("gnu lesser general public license version 3",), ()),
    ("LGPL-2.1-only", ("gnu lesser general public license version 2.1",), ()),
    ("GPL-3.0-only", ("gnu general public license version 3",), ()),
    ("GPL-2.0-only", ("gnu general public license version 2",), ()),
    ("MPL-2.0", ("mozilla public license version 2.0",), ()),
    ("EPL-2.0", ("eclipse public license v 2.0",), ()),
    ("BSD-4-Clause", (*_BSD, "all advertising materials mentioning", _ENDORSE), ()),
    ("BSD-3-Clause", (*_BSD, _ENDORSE), ()),
    ("BSD-2-Clause", _BSD, ()),
    ("PSF-2.0", ("python software foundation license version 2",), ()),
    ("BSL-1.0", ("boost software license version 1.0",), ()),
    ("CC0-1.0", ("cc0 1.0 universal",), ()),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",), ()),
    ("ISC", (_PERMISSION, "provided that the above copyright notice"), ()),
    ("0BSD", (_PERMISSION,), ()),
    ("Zlib", ("altered source versions must be plainly marked as such",), ()),
    ("MIT-0", (_GRANT,), ("the above copyright notice and this permission notice",)),
    ("MIT", (_GRANT, "the above copyright notice and this permission notice"), ()),
)  # fmt: skip
"""(SPDX id, phrases that must be there, phrases that must not), most specific first."""

_OSI = "License :: OSI Approved :: "
CLASSIFIERS: dict[str, str] = {
    _OSI + "MIT License": "MIT",
    _OSI + "MIT No Attribution License (MIT-0)": "MIT-0",
    _OSI + "Apache Software License": "Apache-2.0",
    _OSI + "ISC License (ISCL)": "ISC",
    _OSI + "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    _OSI + "Python Software Foundation License": "PSF-2.0",
    _OSI + "The Unlicense (Unlicense)": "Unlicense",
    _OSI + "Boost Software License 1.0 (BSL-1.0)": "BSL-1.0",
    _OSI + "zlib/libpng License": "Zlib",
    _OSI + "Eclipse Public License 2.0 (EPL-2.0)": "EPL-2.0",
    _OSI + "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    _OSI + "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    _OSI + "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    _OSI + "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    _OSI + "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    _OSI + "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    _OSI + "GNU Affero General Public License v3": "AGPL-3.0-only",
    _OSI + "GNU Affero General Public License v3 or later (AGPLv3+)": "AGPL-3.0-or-later",
    "License :: CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
}
"""Classifiers that mean one licence. `BSD License` and its like mean several and are left to the text."""
