"""The trusted part of a test run: modules that `runner` sends into the sandbox through standard input.

They never lie in the repository, import only the standard library and the environment's pytest, and run on
any Python from 3.9, whatever Python we run on ourselves.
"""
