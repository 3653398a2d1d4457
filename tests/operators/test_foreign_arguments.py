"""Numbers, flags and indices of other classes than Python's own, as arguments of operators and of builtins.

Each use runs on each object of a class after the others of it.
"""

import decimal
import enum
import fractions
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import torch

import supple
from supple.base.config import config

pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore")]


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Number(int):
    pass


class Index:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Real:
    def __init__(self, number: float) -> None:
        self.number = number

    def __float__(self) -> float:
        return float(self.number)


KINDS: Final[dict[str, Callable[[], list[Any]]]] = {
    "numpy integer": lambda: [np.int64(1), np.int64(0), np.int64(2)],
    "numpy small integer": lambda: [np.int32(1), np.int32(2)],
    "numpy float": lambda: [np.float64(1.5), np.float64(0.0)],
    "numpy small float": lambda: [np.float32(1.5), np.float32(2)],
    "numpy truth": lambda: [np.bool_(True), np.bool_(False)],
    "numpy array of a number": lambda: [np.array(1), np.array(2)],
    "numpy array": lambda: [np.array([1]), np.array([1, 2])],
    "member": lambda: [Level.LOW, Level.HIGH],
    "integer of a class": lambda: [Number(1), Number(2)],
    "index": lambda: [Index(1), Index(2)],
    "real": lambda: [Real(1), Real(2)],
    "tensor of an integer": lambda: [torch.tensor(1), torch.tensor(2)],
    "tensor of a float": lambda: [torch.tensor(1.5), torch.tensor(0.5)],
    "tensor of a truth": lambda: [torch.tensor(True), torch.tensor(False)],
    "tensor of one row": lambda: [torch.tensor([1]), torch.tensor([2])],
    "truth": lambda: [True, False],
    "fraction": lambda: [fractions.Fraction(1, 2), fractions.Fraction(2, 1)],
    "decimal": lambda: [decimal.Decimal(1), decimal.Decimal(2)],
    "complex": lambda: [1 + 0j, 2j],
    "nothing": lambda: [None, 1],
    "text": lambda: ["sum", "mean"],
}
USES: Final = (
    "x.sum(v)", "x[v]", "x[:v]", "x[...,v]", "x[[v]]", "x[(v,)]", "x.sum(dim=(v,))",
    "torch.full((v,),1.0)", "torch.full((2,),v)", "torch.zeros(v)", "torch.arange(v)",
    "torch.arange(0,4,v)", "x.view(-1,v)", "x.reshape(v,-1)", "x+v", "v+x", "x*v", "x-v", "v-x", "x/v",
    "x//v", "x%v", "x**v", "v**x", "x==v", "x<v", "v<x", "x.add(v)", "x.add(1,alpha=v)",
    "torch.add(x,v)", "x.mul_(v)", "x.clamp(v)", "x.clamp(max=v)", "x.pow(v)", "torch.pow(v,x)",
    "x.fill_(v)", "x.unsqueeze(v)", "x.transpose(0,v)", "x.roll(v)", "x.repeat(v,1)", "x.expand(v,3,3)",
    "x.narrow(0,0,v)", "x.split(v)", "x.chunk(v)", "x.topk(v)", "x.select(0,v)", "torch.linspace(0,1,v)",
    "torch.linspace(0,v,3)", "torch.where(x>0,x,v)", "torch.where(x>0,v,0)", "x.masked_fill(x>0,v)",
    "torch.nn.functional.dropout(x,v,False)", "torch.nn.functional.leaky_relu(x,v)",
    "torch.nn.functional.pad(x,(v,v))", "torch.nn.functional.softmax(x,v)",
    "torch.nn.functional.one_hot(x.long(),v)", "torch.nn.functional.mse_loss(x,x,reduction=v)",
    "torch.tensor(v)", "torch.tensor([v,v])", "torch.as_tensor(v)", "x.new_tensor(v)",
    "x.new_full((2,),v)", "torch.eye(v)", "torch.tril(x,v)", "x.diagonal(v)", "torch.cumsum(x,v)",
    "torch.cat([x,x],v)", "torch.stack([x,x],v)", "x.squeeze(v)", "x.flip(v)", "x.flatten(v)",
    "x.std(v)", "x.std(correction=v)", "x.norm(v)", "x.quantile(v)", "x.kthvalue(v)",
    "x.index_select(0,torch.tensor([v]))", "torch.ones(2,3)[v,1]", "x.to(v)", "x.type(v)",
    "x.__getitem__(v)", "x.lerp(x,v)", "x.addcmul(x,x,value=v)",
    "torch.bincount(x.long().view(-1),minlength=v)", "x.unflatten(0,(v,-1))", "x.tile(v)",
    "torch.combinations(x[0],v)", "x.item() if x.numel()==v else x", "len(x)*v", "float(v)*x",
    "int(v)*x", "bool(v) and x", "round(v)*x", "range(v)", "[x]*v", "(x,)*v", "list(range(3))[v]",
    "max(v,1)*x", "min(1,v)*x", "abs(v)*x", "divmod(7,v)", "f'{v}'", "x.size(v)", "x.stride(v)",
    "x.shape[v]", "x.dim()==v", "v in (1,2)", "v is v", "isinstance(v,int)", "isinstance(v,float)",
    "hash(v)==hash(v)", "{v:x}[v]", "torch.Size([v])", "torch.Generator().manual_seed(v).initial_seed()",
    "x.argmax(v)", "x.sort(v)", "x.unbind(v)", "torch.einsum('ij->i',x)*v",
    "x.scatter(0,torch.zeros(1,1,dtype=torch.long),v)", "x.index_fill(0,torch.tensor([0]),v)",
    "torch.logspace(0,1,v)", "x.swapaxes(0,v)", "torch.randint(0,v,(2,)).shape",
    "torch.randperm(v).shape", "x.bernoulli(v).shape", "torch.rot90(x,v)", "x.diff(v)",
    "x.heaviside(torch.tensor(v,dtype=torch.float32))", "torch.hann_window(v)", "x.movedim(0,v)",
    "x.view(v,-1,1)",
)  # fmt: skip


def seen(run: Callable[..., object], argument: object) -> str:
    x = torch.arange(9.0).view(3, 3)
    try:
        found = repr(run(x, argument))
    except Exception as error:  # whatever eager raises
        found = type(error).__name__
    return f"{re.sub('0x[0-9a-f]+', '', found)} {x.tolist()}"


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_of_another_class(kind: str, backend: str) -> None:
    make, wrong = KINDS[kind], list[object]()
    for use in USES[backend == "native" :: 2]:
        program = eval(f"lambda x, v: {use}", {"torch": torch})
        compiled = supple.compile(program, backend=backend)
        with config.patch(suppress_errors=False):
            for place in (*range(len(make())), 0):
                want, got = (seen(run, make()[place]) for run in (program, compiled))
                if got != want:
                    wrong.append((use, place, got, want))
        supple.reset()
    assert not wrong
