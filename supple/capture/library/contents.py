"""Numbers read out of tensors: integers become symbols that the run gives, so that capture goes on."""

from functools import partial

import torch

from supple.capture import breaks
from supple.capture.library.numbers import TO_FLOAT, TO_INT, Function
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue, fold
from supple.capture.values.sequence import new_list
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue, emit
from supple.ir.ops import method_op
from supple.shapes.decide import number
from supple.shapes.symnode import expr_of


def item_of(machine: Machine, value: Value) -> Value:
    """Return `value.item()` of a tensor with one element."""
    assert isinstance(value, TensorValue), value.describe()
    return emit(machine, method_op("item"), [value], {})


call.on(torch.Tensor.item)(lambda machine, args, _: item_of(machine, args[0]))


def _converted(kind: Function, on_symbols: Function, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """int(x) and float(x)."""
    found = item_of(machine, args[0])
    if isinstance(found, SymbolicValue):
        return fold(machine, on_symbols, found.number)
    return fold(machine, kind, found.as_python())


call.on(torch.Tensor.__int__, torch.Tensor.__index__)(partial(_converted, int, TO_INT))
call.on(torch.Tensor.__float__)(partial(_converted, float, TO_FLOAT))


@call.on(torch.Tensor.tolist)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # untyped
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """x.tolist(), element by element; the number of elements is specialised."""
    value = args[0]
    assert isinstance(value, TensorValue), value.describe()
    if value.fake.dtype.is_floating_point or value.fake.is_complex():
        machine.unsupported(breaks.TENSOR_VALUE, name="Tensor.tolist")
    return _listed(machine, value)


def _listed(machine: Machine, value: Value) -> Value:
    assert isinstance(value, TensorValue), value.describe()
    if value.fake.ndim == 0:
        return item_of(machine, value)
    count = number(expr_of(value.fake.shape[0]))
    rows = (value.get_item(machine, ConstantValue(place)) for place in range(count))
    return new_list([_listed(machine, row) for row in rows])
