"""What the metadata of a result cannot be computed from."""

from supple.base.errors import SuppleError


class DataDependent(SuppleError):
    """The operator's result, or its shape, depends on numbers that exist only when the program runs.

    `op` is the operator's name: "aten.nonzero.default", "Tensor.tolist".
    """

    def __init__(self, op: str) -> None:
        self.op = op
        super().__init__(f"the result of {op} depends on the values of its operands")


class NoMeta(SuppleError):
    """A tensor that `TensorMeta` cannot describe (sparse, quantised, float8, conjugated, ...)."""


class NoShapeRule(SuppleError):
    """Neither a rule nor a meta kernel of torch gives the metadata of an operator's result."""

    def __init__(self, op: str, why: str) -> None:
        self.op = op
        super().__init__(f"the metadata of the result of {op} is not known: {why}")


class Undecided(SuppleError):
    """A rule must compare two symbolic sizes and nothing is known that decides."""
