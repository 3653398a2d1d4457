"""The shape rules, all of them: importing this module fills the table.

Operators that write an argument have no rule: `shapes.writes` finds the one of their pure form.
"""

from supple.shapes import rules_backward as _backward
from supple.shapes import rules_bags as _bags
from supple.shapes import rules_creation as _creation
from supple.shapes import rules_data as _data
from supple.shapes import rules_index as _index
from supple.shapes import rules_library as _library
from supple.shapes import rules_metadata as _metadata
from supple.shapes import rules_pointwise as _pointwise
from supple.shapes import rules_reduce as _reduce
from supple.shapes import rules_resize as _resize
from supple.shapes import rules_view as _view
from supple.shapes.rules import shape_rules

RULE_FILES = (
    *(_backward, _bags, _creation, _data, _index, _library),
    *(_metadata, _pointwise, _reduce, _resize, _view),
)

__all__ = ["RULE_FILES", "shape_rules"]
