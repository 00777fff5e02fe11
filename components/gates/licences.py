"""Is an SPDX expression permissive? `OR` needs one permissive side, `AND` needs both."""

from collections.abc import Collection


def permissive(spdx: str, allowed: Collection[str]) -> bool:
    """True when the expression can be satisfied with allowed licences only.

    Whatever cannot be parsed, `NOASSERTION` and an empty expression are not permissive. An exception
    (`Apache-2.0 WITH LLVM-exception`) only ever adds permissions, so the licence before it decides.
    """
    from license_expression import ExpressionError, LicenseWithExceptionSymbol, Licensing

    if not spdx.strip():
        return False
    try:
        parsed = Licensing().parse(spdx)
    except ExpressionError:
        return False

    def holds(node: object) -> bool:
        if isinstance(node, LicenseWithExceptionSymbol):
            return str(node.license_symbol.key) in allowed
        operator = str(getattr(node, "operator", "")).strip()
        parts: tuple[object, ...] = tuple(getattr(node, "args", ()))
        if operator == "OR":
            return any(holds(part) for part in parts)
        if operator == "AND":
            return all(holds(part) for part in parts)
        return str(getattr(node, "key", "")) in allowed

    return holds(parsed)
