"""Listens to events: counts, logs. Nothing below imports it."""
