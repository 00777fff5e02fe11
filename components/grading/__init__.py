"""Running tests, judging submissions. Trusts nothing that a submission could have touched."""
