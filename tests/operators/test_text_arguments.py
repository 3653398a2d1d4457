"""A text that an operator does not know is refused as in eager, and so is a name that is no text."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple

ZEROS = torch.zeros(4, 4, dtype=torch.long)
BOUNDS = torch.tensor([0.0, 1.0, 2.0])
PLACES = torch.zeros(1, 2, 2, 2)

PROGRAMS: dict[str, Callable[[torch.Tensor], object]] = {
    "gelu": lambda x: F.gelu(x, approximate="other"),
    "div": lambda x: torch.div(x, x, rounding_mode="other"),
    "div in place": lambda x: x.div_(2, rounding_mode="other"),
    "searchsorted": lambda x: torch.searchsorted(x, x, side="other"),
    "bucketize": lambda x: torch.bucketize(x, BOUNDS, side="other"),
    "scatter_reduce": lambda x: x.scatter_reduce(0, ZEROS, x, "other"),
    "index_reduce": lambda x: x.index_reduce(0, torch.tensor([0]), x[:1], "other"),
    "quantile": lambda x: torch.quantile(x, 0.5, interpolation="other"),
    "pad": lambda x: F.pad(x, (1, 1), mode="other"),
    "interpolate": lambda x: F.interpolate(x[None], scale_factor=2, mode="other"),
    "grid_sample": lambda x: F.grid_sample(x[None, None], PLACES, mode="other"),
    "cross_entropy": lambda x: F.cross_entropy(x, x, reduction="other"),
    "kl_div": lambda x: F.kl_div(x, x, reduction="other"),
    "norm": lambda x: torch.linalg.norm(x, "other"),
    "fft": lambda x: torch.fft.fft(x, norm="other"),
    "qr": lambda x: torch.linalg.qr(x, mode="other"),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="other"),
    "einsum": lambda x: torch.einsum("other", x),
    "cdist": lambda x: torch.cdist(x, x, compute_mode="other"),
    "to": lambda x: x.to("other"),
    "type": lambda x: x.type("other"),
    "hasattr": lambda x: hasattr(x, None),  # type: ignore[arg-type]
    "getattr": lambda x: getattr(x, 3),  # type: ignore[call-overload]
    "getattr with a default": lambda x: getattr(x, None, 4),  # type: ignore[call-overload]
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_text_that_is_unknown_is_refused_as_in_eager(name: str) -> None:
    program = PROGRAMS[name]
    x = torch.linspace(0.5, 2.0, 16).reshape(4, 4)
    with pytest.raises(Exception) as want:  # noqa: PT011  # whatever eager raises
        program(x.clone())
    given = x.clone()
    with pytest.raises(type(want.value)) as got:
        supple.compile(program)(given)
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]
    assert torch.equal(given, x)
