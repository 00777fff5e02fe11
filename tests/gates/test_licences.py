import pytest

from components.gates.config import PERMISSIVE
from components.gates.licences import permissive


@pytest.mark.parametrize(
    ("spdx", "expected"),
    [
        ("MIT", True),
        ("BSD-3-Clause", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (Apache-2.0 OR GPL-2.0-only)", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("GPL-3.0-only", False),
        ("NOASSERTION", False),
        ("LicenseRef-Proprietary", False),
        ("", False),
        ("MIT AND", False),
        ("see LICENSE file", False),
    ],
)
def test_permissive(spdx: str, expected: bool) -> None:
    assert permissive(spdx, PERMISSIVE) is expected
