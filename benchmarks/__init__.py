"""Side-by-side measurements that back the figures in the documentation."""
