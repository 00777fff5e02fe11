"""Which candidates are bugs, proven by running tests; their problem statements; their split."""
