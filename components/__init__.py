"""Everything that the flows wire together."""
