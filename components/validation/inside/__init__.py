"""What runs inside the sandbox: standard library and the environment's pytest only, Python 3.9 or later."""
