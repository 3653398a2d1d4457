"""What the metadata of a result cannot be computed from."""

from supple.base.errors import SuppleError, Where


class DataDependent(SuppleError):
    """The operator's result, or its shape, depends on numbers that exist only when the program runs.

    `op` is the operator's name: "aten.nonzero.default", "Tensor.tolist".
    """

    def __init__(self, op: str) -> None:
        self.op = op
        super().__init__(f"the result of {op} depends on the values of its operands")


class NoMeta(SuppleError):
    """A tensor that `TensorMeta` cannot describe (sparse, quantised, float8, conjugated, ...)."""


class Misfit(RuntimeError):
    """The arguments of an operator do not fit together, so that eager refuses them."""


class NoShapeRule(SuppleError):
    """Neither a rule nor a meta kernel of torch gives the metadata of an operator's result."""

    def __init__(self, op: str, why: str) -> None:
        self.op = op
        super().__init__(f"the metadata of the result of {op} is not known: {why}")


class Undecided(SuppleError):
    """A condition, or a number, depends on a symbol that has no value while the program is compiled.

    Attributes:
        condition: what was asked.
        stack: the user's stack.
        origin: where the unbacked symbols come from.
    """

    def __init__(self, condition: object, stack: tuple[Where, ...] = (), origin: str = "") -> None:
        self.condition, self.stack, self.origin = condition, stack, origin
        super().__init__(f"{condition} is known only when the program runs ({origin})")


class LateGuard(SuppleError):
    """A condition on sizes was asked after the guards of its graph were installed."""

    def __init__(self, condition: object) -> None:
        super().__init__(f"the guards are in use already; {condition} cannot be added to them")
