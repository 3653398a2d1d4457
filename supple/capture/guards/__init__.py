"""Conditions under which an entry holds: kinds as data, the tree, the generated checker, explanations."""
