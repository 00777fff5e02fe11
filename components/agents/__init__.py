"""Agents: scaffolds as data, tools, models behind one protocol, and the loop that runs many at once."""
