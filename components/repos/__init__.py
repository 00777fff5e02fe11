"""Where code comes from: pinned sources, licences, environments, and what untouched code does."""
