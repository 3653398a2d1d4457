"""The shape rules, all of them: importing this module fills the tables.

`shape_rules` holds operators that make results; `mutable_rules` those that write their first argument and return it.
"""

from supple.shapes import rules_creation as _creation
from supple.shapes import rules_index as _index
from supple.shapes import rules_library as _library
from supple.shapes import rules_pointwise as _pointwise
from supple.shapes import rules_reduce as _reduce
from supple.shapes import rules_view as _view
from supple.shapes.rules import mutable_rules, shape_rules

RULE_FILES = (_creation, _index, _library, _pointwise, _reduce, _view)

__all__ = ["RULE_FILES", "mutable_rules", "shape_rules"]
