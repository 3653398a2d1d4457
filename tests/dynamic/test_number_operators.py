"""What Python does with a number that became symbolic, and with conditions on it: as with a plain one.

An error that only a symbolic number raises must not reach the program, which may catch it.
"""

import math
import operator
from typing import Any

import pytest
import torch

import supple

NUMBERS = """
divmod(n, True) | divmod(n, 2.5) | divmod(7, n) | divmod(-n, 3) | n**2.5 | n**-1 | 2**n | (-2)**n | 2.5**n
n**True | round(n, 2) | round(n / 3, 1) | n.__add__(2) | math.pow(n, 2) | n.bit_length() | complex(n)
f'{n:x}' | f'{n:>5}' | hash(n) | list(range(n)) | 'a' * n | [0] * n | math.gcd(n, 6) | math.isqrt(n)
operator.index(n) | n.real | n.numerator | n.conjugate() | (n / 2).is_integer() | math.hypot(n, 4)
math.prod([n, 2]) | sum([n, 1.5]) | n // 2.0 | n % 2.5 | -n // 2 | n / 0.5 | n > 2.5 | n == n + 0.0
math.floor(n / 2) | math.ceil(n / 2) | int(n / 2) | float(n) | str(n / 2) | n ^ 3 | ~n | n >> 1 | 1 << n
n & 6 | not n | bool(n) | n and 5 | n or 5 | n if n > 2 else 0 | n < 5 < 10 | n in (3, 4) | n in [1, n]
{n: 1}[n] | (n, 1) < (n, 2) | max(n, 2.5) | min(n, True) | max([n, 4], default=0) | sorted([n, 2, 4])
abs(-n) | n.__class__ | type(n) is int | isinstance(n, int) | pow(n, 2, 5) | pow(n, True) | math.sqrt(n)
math.log(n) | math.exp(n / 4) | math.sin(n) | n is n | n is None | n == None | n != 'a' | n < True | repr(n)
n.__hash__() | n + x.size(0) | x.size(0) // True | x.numel() / 2 | x.size(0)**2 | x.size() == (4,)
x.size(0) in {4} | len(x) * True | n // True | n % True | True - n | n / True | 2.5 * n | -n | n is 3
"""
CONDITIONS = """
(x.size(0) > 2) is True | (n > 2) is True | (n > 2) is (n < 9) | (x.size(0) > 2) + 1
all([x.size(0) > 2, n > 2]) | any([n > 100]) | (n > 2) ^ True | (n > 2) & (n < 9) | ~(n > 2) | int(n > 2)
float(n > 2) | str(n > 2) | f'{n > 2}' | [5, 6][n > 2] | {True: 1, False: 2}[n > 2] | (n > 2) * 1.5
(n > 2) == 1 | (n > 2) < 2 | hash(n > 2) | (n > 2) / 2 | sum([n > 2, n > 3]) | divmod(n > 2, 2)
(n > 2) // True | (n > 2) + n | n * (n > 2) | -(n > 2) | abs(n > 2) | (n > 2)**2 | max(n > 2, n)
max(n > 2, True) | round(n > 2) | x[n > 2:] | [*map(int, [n, n > 2])] | n << (n > 2)
torch.tensor([n, n > 2]) | x.new_full((2,), n > 2) | x + (n > 2) | x * (n > 2)
torch.where(x > 0, n, n > 2)
"""
FLOATS = """
divmod(f,True) | divmod(f,2) | divmod(7,f) | f**2 | f**-1 | f**0.5 | 2**f | round(f) | round(f,1)
f.is_integer() | f.hex() | f.as_integer_ratio() | int(f) | math.floor(f) | math.ceil(f) | math.trunc(f)
abs(f) | -f | +f | f+True | f*(f>1) | (f>1) is True | f==1 | f==2.5 | f!=f | f<3<9 | str(f) | f'{f:.2f}'
repr(f) | hash(f) | max(f,1) | min(f,0.5) | sorted([f,1.0]) | sum([f,1]) | f%2 | f%True | -f%3 | f//1
f/0.5 | 1/f | math.sqrt(abs(f)) | math.exp(f) | math.isnan(f) | math.isinf(f) | math.copysign(1,f)
math.fmod(f,2) | math.modf(f) | math.frexp(f) | complex(f) | bool(f) | not f | f and 1 | f or 2
f if f>1 else 0 | type(f) is float | isinstance(f,int) | f.real | f.__class__ | [f]==[2.5] | f in (2.5,3.0)
{f:1}[f] | f is None | f is f | pow(f,2) | pow(f,True) | (f,1)<(2.6,0) | torch.tensor(f) | x*f | x+f
x.clamp(max=f) | torch.full((2,),f) | x.new_tensor([f,1]) | torch.where(x>0,f,0.0)
x.add(x,alpha=f) | f.conjugate() | operator.truediv(f,2) | float(f) | f.__add__(1) | [*map(int,[f,2.2])]
math.fsum([f,0.1]) | math.isclose(f,2.5) | f//True | (f>1)/2 | all([f>0]) | any([f>9,f<-9]) | f<=True
math.pow(f,2) | math.hypot(f,3) | math.log(abs(f)) | x**f | torch.pow(2,x*f) | x[int(f):]
list(range(int(f)))
0//f | 0.0//f | 1.0//f | 7//f | f//0.1 | f//-0.3 | (f+0.5)//f | (0*f)//1 | 0//(f//1) | 0.3%f
"""
PROGRAM = """
def program(x, {}):
    try:
        return x + 1, {}
    except Exception as error:
        return type(error), str(error)
"""


def expressions(text: str) -> list[str]:
    return [one for line in text.splitlines() if line for one in line.split(" | ")]


def check(expression: str, name: str, dynamic: bool | None, values: tuple[float, ...]) -> None:
    names: dict[str, Any] = {"torch": torch, "math": math, "operator": operator}
    exec(PROGRAM.format(name, expression), names)
    compiled = supple.compile(names["program"], backend="eager", dynamic=dynamic)
    for value in values:
        assert repr(compiled(torch.ones(4), value)) == repr(names["program"](torch.ones(4), value))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", expressions(NUMBERS + CONDITIONS))
@pytest.mark.parametrize("dynamic", [True, None])
def test_as_plain_integers(expression: str, dynamic: bool | None) -> None:
    check(expression, "n", dynamic, (3, 5, 1, 2))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", expressions(FLOATS))
@pytest.mark.parametrize("dynamic", [True, None])
def test_as_plain_floats(expression: str, dynamic: bool | None) -> None:
    check(expression, "f", dynamic, (2.5, 3.0, -1.5, 0.5, 0.0, math.nan, math.inf))


def test_a_condition_on_a_number_that_a_constant_tensor_holds_is_no_guard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # SYM10
    def program() -> list[int]:
        with torch.inference_mode():
            return [*range(torch.tensor(2.0).item() // 1 % 3)]  # pyright: ignore[reportArgumentType]  # a float

    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        supple.compile(program, dynamic=True)()
    assert "I001" not in caplog.text


@pytest.mark.parametrize("joined", ["prepend", "append"])
def test_differences_of_order_zero_are_the_tensor_without_what_is_joined(joined: str) -> None:
    def program(x: torch.Tensor, n: int, more: torch.Tensor) -> torch.Tensor:
        return torch.diff(x, n, 0, **{joined: more})

    x, more = torch.randn(5, 2), torch.randn(3, 2)
    run = supple.compile(program, dynamic=True)
    for n in (0, 1, 2):
        torch.testing.assert_close(run(x, n, more), program(x, n, more))
