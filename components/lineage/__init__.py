"""Where a checkpoint came from, and what an item has touched: manifests, joined by row ids."""
