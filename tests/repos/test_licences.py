"""Licences as SPDX, with the file that proves them."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.repos.licences import CLASSIFIERS, FINGERPRINTS, UNKNOWN, identify, normalise, read_licence

MIT = (Path(__file__).parents[1] / "fixtures/tinylib/LICENSE").read_text()
BSD = """Copyright (c) 2013, Somebody

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:
  * Redistributions of source code must retain the above copyright notice.
  * Redistributions in binary form must reproduce the above copyright notice.
"""
ENDORSE = "  * The names of its contributors may not be used to\n    endorse or promote products.\n"


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("mit", "MIT"),
        ("MIT or apache-2.0", "Apache-2.0 OR MIT"),
        ("GPL-3.0", "GPL-3.0-only"),
        ("GPL-2.0+", "GPL-2.0-or-later"),
        ("GPL-2.0-only WITH Classpath-exception-2.0", "GPL-2.0-only WITH Classpath-exception-2.0"),
        ("BSD", None),
        ("MIT License", None),
        ("", None),
        ("mit and", None),
        ("(MIT", None),
        ("see the LICENSE file", None),
    ],
)
def test_normalise(expression: str, expected: str | None) -> None:
    assert normalise(expression) == expected


IDS = st.sampled_from(["MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-or-later", "ISC", "MPL-2.0"])
EXPRESSIONS = st.recursive(
    IDS,
    lambda inner: st.tuples(inner, st.sampled_from([" AND ", " OR ", " and ", " or "]), inner).map(
        lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_normal_form_is_reached_at_once_whatever_the_case(expression: str) -> None:
    normal = normalise(expression)
    assert normal is not None
    assert normalise(normal) == normal
    assert normalise(expression.lower()) == normal


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_none(text: str) -> None:
    normal = normalise(text)
    assert normal is None or normalise(normal) == normal


def test_every_known_id_is_one() -> None:
    for spdx in [*CLASSIFIERS.values(), *(spdx for spdx, _, _ in FINGERPRINTS)]:
        assert normalise(spdx) == spdx


def test_texts() -> None:
    assert identify(MIT) == "MIT"
    assert identify(BSD) == "BSD-2-Clause"
    assert identify(BSD + ENDORSE) == "BSD-3-Clause"
    assert identify("Apache License\n  Version 2.0, January 2004") == "Apache-2.0"
    assert identify("GNU LESSER GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007") == "LGPL-3.0-only"
    assert identify("All rights reserved.") is None


def test_the_expression_of_the_metadata_comes_first(tmp_path: Path) -> None:
    info = "Metadata-Version: 2.4\nLicense-Expression: BSD-3-Clause\n\nA body: License-Expression: MIT\n"
    found = read_licence(tree(tmp_path, **{"PKG-INFO": info, "LICENSE": BSD + ENDORSE}))
    assert (found.spdx, found.evidence) == ("BSD-3-Clause", "PKG-INFO: License-Expression")
    assert found.evidence_sha256 == hashlib.sha256(info.encode()).hexdigest()


def test_a_text_that_says_something_else_is_told(tmp_path: Path) -> None:
    found = read_licence(tree(tmp_path, **{"PKG-INFO": "License-Expression: MIT\n", "LICENSE__txt": BSD}))
    assert found.spdx == "MIT"
    assert found.evidence == "PKG-INFO: License-Expression (LICENSE.txt reads BSD-2-Clause)"


def test_or_later_is_no_contradiction(tmp_path: Path) -> None:
    text = "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007"
    classifier = "License :: OSI Approved :: GNU General Public License v3 or later (GPLv3+)"
    found = read_licence(tree(tmp_path, **{"PKG-INFO": f"Classifier: {classifier}\n", "COPYING": text}))
    assert (found.spdx, found.evidence) == ("GPL-3.0-or-later", "PKG-INFO: classifiers")


def test_a_vague_classifier_leaves_it_to_the_text(tmp_path: Path) -> None:
    info = "Classifier: License :: OSI Approved :: BSD License\n"
    found = read_licence(tree(tmp_path, **{"PKG-INFO": info, "LICENSE": BSD + ENDORSE}))
    assert (found.spdx, found.evidence) == ("BSD-3-Clause", "LICENSE")
    assert found.evidence_sha256 == hashlib.sha256((BSD + ENDORSE).encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ('[project]\nlicense = "MIT"\n', "pyproject.toml: project.license"),
        ('[project]\nlicense = {text = "MIT"}\n', "pyproject.toml: project.license.text"),
        (
            '[project]\nclassifiers = ["License :: OSI Approved :: MIT License"]\n',
            "pyproject.toml: classifiers",
        ),
    ],
)
def test_pyproject(tmp_path: Path, text: str, evidence: str) -> None:
    found = read_licence(tree(tmp_path, pyproject__toml=text))
    assert (found.spdx, found.evidence) == ("MIT", evidence)


def test_two_texts_bind_together(tmp_path: Path) -> None:
    apache = "Apache License\nVersion 2.0, January 2004"
    found = read_licence(tree(tmp_path, **{"LICENSE-APACHE": apache, "LICENSE-MIT": MIT}))
    assert (found.spdx, found.evidence) == ("Apache-2.0 AND MIT", "LICENSE-APACHE, LICENSE-MIT")


@pytest.mark.parametrize("files", [{}, {"LICENSE": "Ask me first."}, {"pyproject__toml": "[project\n"}])
def test_nothing_to_go_by_is_no_licence(tmp_path: Path, files: dict[str, str]) -> None:
    assert read_licence(tree(tmp_path, **files)).spdx == UNKNOWN
