"""Capture: from a Python function to a graph, its guards and residual bytecode."""
