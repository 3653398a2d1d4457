"""What a program does to a tensor's history, and what it asks of it: lines of Python over `x`, `y` and `w`.

`{t}` stands for the tensor. Results go to the list `made`. `w` has six elements as well.
"""

from typing import Final

ACTS: Final = (
    # What makes a leaf of it, or none.
    "{t}.requires_grad_()",
    "{t}.requires_grad_(False)",
    "{t}.requires_grad = True",
    "{t}.detach_()",
    "{t}.retain_grad()",
    "{t}.grad = w.detach().clone()",
    "{t}.data = w.detach().clone()",
    # Writes.
    "{t}.add_(1)",
    "{t}.mul_(w)",
    "{t}.copy_(w)",
    "{t}.zero_()",
    "{t}[1:3] = 5",
    "{t}[:2] *= w[:2]",
    "{t}.view(-1).mul_(2)",
    "made.append({t}.relu_())",
    "torch.add(w.detach(), 1, out={t})",
    "with torch.no_grad(): {t}.add_(1)",
    "with torch.no_grad(): {t}.copy_(w)",
    "with torch.no_grad(): {t}[1:3].mul_(w[1:3])",
    "{t}.data.add_(1)",
    "{t}.detach().mul_(2)",
    # Functions.
    "made.append(Unfelt.apply({t}, w))",
    "made.append(Unfelt.apply(w, {t}))",
    "made.append({t}.add_(Unfelt.apply(torch.ones(6), w)))",
    "made.append(Pair.apply({t})[1])",
    "made.append(Marked.apply({t}, w))",
    "made.append(Written.apply({t}, w))",
    "made.append(Passed.apply({t}))",
    # Results: values, views, copies.
    "made.append({t} * 2)",
    "made.append({t} * w)",
    "made.append({t}[1:4])",
    "made.append({t}.view(2, 3).t())",
    "made.append({t}.detach())",
    "made.append({t}.data)",
    "made.append({t}.clone())",
    "made.append({t}.contiguous())",
    "made.append({t}.expand(2, 6))",
    "made.extend({t}.split(3))",
    "made.append(torch.as_strided({t}, (2,), (1,)))",
    "made.append(torch.as_strided({t}, (2, 2), (2, 1), 1))",
    "made.append(torch.as_strided_copy({t}, (2,), (1,)))",
    "made.append(torch.as_strided_scatter({t}, w[:2], (2,), (1,)))",
    "with torch.no_grad(): made.append({t}[1:4])",
    "with torch.no_grad(): made.append({t} * w)",
    "with torch.inference_mode(): made.append({t} * 2)",
    "made.append(torch.relu({t}))",
    "made.append(({t} * w).exp())",
    # What is done to the results before it; nothing where there are none.
    "[one.add_(1) for one in made]",
    "[one.mul_({t}[:1]) for one in made]",
    "[one.detach_() for one in made]",
    "[one.squeeze_() for one in made]",
    "[one.unsqueeze_(0) for one in made]",
    "[one.set_({t}) for one in made]",
    "[one.requires_grad_() for one in made]",
    "with torch.no_grad(): [one.add_(1) for one in made]",
    "with torch.inference_mode(): [one.squeeze_() for one in made]",
    "with torch.inference_mode(): [one.unsqueeze_(0) for one in made]",
    # Gradients within the call.
    "made.extend(torch.autograd.grad(({t} * w).sum(), {t}))",
    "made.extend(torch.autograd.grad(({t} * {t}).sum(), {t}, create_graph=True))",
    "({t} * w).sum().backward()",
)
"""What changes something, or makes results."""

ASKS: Final = (
    "{t}.requires_grad",
    "({t} * 2).requires_grad",
    "{t}.is_leaf",
    "{t}._version",
    "{t}.grad_fn is None",
    "{t}.grad",
    "{t}.retains_grad",
    "{t}._is_view()",
    "{t}._base is None",
    "{t}.is_inference()",
    "{t}.is_neg()",
    "{t}.storage_offset()",
    "{t}.stride()",
    "torch.is_grad_enabled()",
    "(x is y, x.data_ptr() == y.data_ptr())",
)
"""What a program asks after that."""

PRELUDE: Final = """
class Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad, grad * 3

class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.mul_(2).add_(y)
    @staticmethod
    def backward(ctx, grad):
        return grad * 2, grad

class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, grad):
        return grad * 5
"""
"""Functions of the programs' own."""
