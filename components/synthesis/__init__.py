"""Proposes bugs: one strategy per package, spans spliced into the bytes of a file."""
