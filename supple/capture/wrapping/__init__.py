"""Python object -> Value: one table by class, then by base; each rule guards what its kind needs at once."""

from supple.capture.wrapping import data, functions, iterators
from supple.capture.wrapping.table import wrap as wrap

RULE_FILES = (data, functions, iterators)
"""The modules that fill the table."""
