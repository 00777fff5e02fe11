"""Typed records at every border. This package imports nothing of ours."""
