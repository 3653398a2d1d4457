"""Code: the text of one LLVM function under construction.

Owns register names, structured loops and where a pure instruction goes: into the outermost scope in which its
operands exist, once. So loop invariants are hoisted and repeated index arithmetic is shared while the text is
written, and no optimiser has to find them again. It knows nothing of loop nests.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from supple.codegen.cpu.registers import Reg, constant, mangled, type_text
from supple.ir.dtypes import DType


@dataclass(slots=True)
class Scope:
    """Straight-line code that is being written: the function's body, or the inside of a loop or branch.

    Attributes:
        label: the basic block that the next line goes into.
        is_guarded: the code runs only if a condition held: what may trap stays inside.
        known: right-hand side -> its register.
    """

    label: str
    is_guarded: bool = False
    lines: list[str] = field(default_factory=list[str])
    known: dict[str, Reg] = field(default_factory=dict[str, Reg])


@dataclass(slots=True)
class OpenLoop:
    """A loop whose body is being written.

    Attributes:
        index: the loop variable, an i64.
        carried: what the previous iteration handed on (at first: the initial values).
        next: what this iteration hands on; the body sets it.
        results: after the loop, what the last iteration handed on, or the initial values.
    """

    index: Reg
    carried: tuple[Reg, ...]
    next: tuple[Reg, ...] = ()
    results: tuple[Reg, ...] = ()


class Code:
    """The body of one function, written line by line."""

    __slots__ = ("_names", "_sources", "declarations", "scopes")

    def __init__(self) -> None:
        self.scopes = [Scope("entry")]
        self.declarations: dict[str, str] = {}
        self._names = 0
        self._sources: dict[str, Reg] = {}

    @property
    def level(self) -> int:
        """The number of the innermost scope."""
        return len(self.scopes) - 1

    def fresh(self) -> str:
        """Return a register name that is not in use."""
        self._names += 1
        return f"%x{self._names}"

    def declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        """Declare an external function (once)."""
        self.declarations[name] = f"declare {result} @{name}({', '.join(parameters)})"

    def pure(self, text: str, dtype: DType, lanes: int, operands: Iterable[Reg]) -> Reg:
        """Return the result of an instruction without effects; it must not trap for any operands."""
        return self._placed(text, dtype, lanes, max((reg.level for reg in operands), default=0))

    def trapping(self, text: str, dtype: DType, lanes: int, operands: Iterable[Reg]) -> Reg:
        """Return the result of an instruction that is safe only where the program has it.

        It is hoisted out of loops that run at least once, not out of guarded code.
        """
        floor = max((n for n, scope in enumerate(self.scopes) if scope.is_guarded), default=0)
        return self._placed(text, dtype, lanes, max((reg.level for reg in operands), default=0), floor)

    def _placed(self, text: str, dtype: DType, lanes: int, level: int, floor: int = 0) -> Reg:
        level = max(level, floor)
        for scope in self.scopes[level::-1]:
            found = scope.known.get(text)
            if found is not None:
                return found
        scope = self.scopes[level]
        reg = Reg(self.fresh(), dtype, lanes, level)
        scope.lines.append(f"  {reg.text} = {text}")
        scope.known[text] = reg
        return reg

    def here(self, text: str, dtype: DType, lanes: int = 1) -> Reg:
        """Return the result of an instruction that must run at this point: a load of changing memory."""
        reg = Reg(self.fresh(), dtype, lanes, self.level)
        self.scopes[-1].lines.append(f"  {reg.text} = {text}")
        return reg

    def line(self, text: str) -> None:
        """Add an instruction without a result at this point."""
        self.scopes[-1].lines.append(f"  {text}")

    @contextmanager
    def guard(
        self, condition: Reg, initial: Sequence[Reg] = (), *, is_rare: bool = False
    ) -> Generator[OpenLoop]:
        """Write code that runs only if `condition` (an i1) holds; its results are the initial values else.

        `is_rare` says that it seldom holds: registers are then kept for the other case.
        """
        name = self.fresh()[1:]
        inside, after = f"then{name}", f"done{name}"
        scope = Scope(inside, is_guarded=True)
        self.scopes.append(scope)
        region = OpenLoop(constant(DType.I64, 0), tuple(initial))
        yield region
        self.scopes.pop()
        outer = self.scopes[-1]
        weights = ", !prof !0" if is_rare else ""
        branch = f"  br i1 {condition.text}, label %{inside}, label %{after}{weights}"
        outer.lines += [branch, f"{inside}:"]
        outer.lines += [*scope.lines, f"  br label %{after}", f"{after}:"]
        before, outer.label = outer.label, after
        results: list[Reg] = []
        for first, last in zip(initial, region.next, strict=True):
            merged = f"phi {first.type} [ {first.text}, %{before} ], [ {last.text}, %{scope.label} ]"
            results.append(self.here(merged, first.dtype, first.lanes))
        region.results = tuple(results)

    @contextmanager
    def repeat(self, begin: Reg, end: Reg, step: int, initial: Sequence[Reg] = ()) -> Generator[OpenLoop]:
        """Write the body of a loop that runs at least once: index = begin, begin + step, ... below end."""
        name = self.fresh()[1:]
        label, after = f"loop{name}", f"after{name}"
        scope = Scope(label)
        self.scopes.append(scope)
        index = Reg(f"%i{name}", DType.I64, 1, self.level)
        carried = tuple(Reg(self.fresh(), reg.dtype, reg.lanes, self.level) for reg in initial)
        loop = OpenLoop(index, carried)
        yield loop
        following = self.here(f"add nuw nsw i64 {index.text}, {step}", DType.I64)
        more = self.here(f"icmp slt i64 {following.text}, {end.text}", DType.BOOL)
        self.scopes.pop()
        outer = self.scopes[-1]
        outer.lines += [f"  br label %{label}", f"{label}:"]
        for reg, first, last in [(index, begin, following), *zip(carried, initial, loop.next, strict=True)]:
            sources = f"[ {first.text}, %{outer.label} ], [ {last.text}, %{scope.label} ]"
            outer.lines.append(f"  {reg.text} = phi {reg.type} {sources}")
        outer.lines += [*scope.lines, f"  br i1 {more.text}, label %{label}, label %{after}", f"{after}:"]
        outer.label = after
        loop.results = tuple(Reg(reg.text, reg.dtype, reg.lanes, self.level) for reg in loop.next)

    @contextmanager
    def loop(self, begin: Reg, end: Reg, step: int, initial: Sequence[Reg] = ()) -> Generator[OpenLoop]:
        """Write the body of a loop that runs any number of times, with as little control flow as is known."""
        known = begin.number, end.number
        match known:
            case int(first), int(last) if first < last <= first + step:
                loop = OpenLoop(begin, tuple(initial))
                yield loop
                loop.results = loop.next
            case int(first), int(last) if first < last:
                with self.repeat(begin, end, step, initial) as loop:
                    yield loop
            case _:
                with self.guard(self.compare("icmp slt", begin, end), initial) as region:
                    with self.repeat(begin, end, step, initial) as loop:
                        yield loop
                    region.next = loop.results
                loop.results = region.results

    def finish(self) -> str:
        """Return the text of the body without its `ret`; nothing may be open."""
        assert len(self.scopes) == 1, f"{self.level} scopes are open"
        return "\n".join(["entry:", *self.scopes[0].lines])

    def op(self, name: str, *operands: Reg) -> Reg:
        """Return `name` applied to operands of one type, a result of that type: add, fmul, xor."""
        first = operands[0]
        text = f"{name} {first.type} {', '.join(reg.text for reg in operands)}"
        return self.pure(text, first.dtype, first.lanes, operands)

    def compare(self, name: str, left: Reg, right: Reg) -> Reg:
        """Return a comparison ("icmp slt", "fcmp uno") as i1 lanes."""
        text = f"{name} {left.type} {left.text}, {right.text}"
        return self.pure(text, DType.BOOL, left.lanes, (left, right))

    def select(self, condition: Reg, yes: Reg, no: Reg) -> Reg:
        """Return `yes` where `condition` holds, else `no`; a scalar condition chooses a whole vector."""
        text = f"select {condition.typed}, {yes.typed}, {no.typed}"
        return self.pure(text, yes.dtype, yes.lanes, (condition, yes, no))

    def convert(self, name: str, value: Reg, dtype: DType) -> Reg:
        """Return a conversion ("sitofp", "zext", "bitcast") to a dtype of as many lanes."""
        text = f"{name} {value.typed} to {type_text(dtype, value.lanes)}"
        return self.pure(text, dtype, value.lanes, (value,))

    def intrinsic(self, name: str, *operands: Reg) -> Reg:
        """Return `@llvm.<name>` of operands and a result of one type."""
        first = operands[0]
        arguments = ", ".join(reg.typed for reg in operands)
        text = f"call {first.type} @llvm.{name}.{mangled(first.dtype, first.lanes)}({arguments})"
        return self.pure(text, first.dtype, first.lanes, operands)

    def across(self, vector: Reg, name: str) -> Reg:
        """Return what `@llvm.vector.reduce.<name>` makes of all lanes of a vector."""
        suffix = mangled(vector.dtype, vector.lanes)
        text = f"call {type_text(vector.dtype)} @llvm.vector.reduce.{name}.{suffix}({vector.typed})"
        return self.pure(text, vector.dtype, 1, (vector,))

    def element(self, base: Reg, index: Reg) -> Reg:
        """Return the address of an element of `base`'s dtype, or a vector of addresses."""
        text = f"getelementptr {type_text(base.dtype)}, {base.typed}, {index.typed}"
        reg = self.pure(text, base.dtype, index.lanes, (base, index))
        return Reg(reg.text, reg.dtype, reg.lanes, reg.level, is_address=True)

    def splat(self, value: Reg, lanes: int) -> Reg:
        """Return a vector with the scalar `value` in every lane; a vector is returned as it is."""
        if value.lanes == lanes:
            return value
        made = self._splat(value, lanes)
        self._sources[made.text] = value
        return made

    def source(self, vector: Reg) -> Reg | None:
        """Return the scalar that `splat` made the vector of, None if it was made in another way."""
        return self._sources.get(vector.text)

    def _splat(self, value: Reg, lanes: int) -> Reg:
        if not value.text.startswith("%"):
            return replace(value, text=f"splat ({value.typed})", lanes=lanes, level=0)
        vector = replace(value, lanes=lanes).type
        one = f"insertelement {vector} poison, {value.typed}, i64 0"
        first = self.pure(one, value.dtype, lanes, (value,))
        all_of = f"shufflevector {vector} {first.text}, {vector} poison, <{lanes} x i32> zeroinitializer"
        made = self.pure(all_of, value.dtype, lanes, (value,))
        return replace(made, is_address=value.is_address)

    def extract(self, value: Reg, lane: int) -> Reg:
        """Return one lane of a vector."""
        text = f"extractelement {value.typed}, i64 {lane}"
        return self.pure(text, value.dtype, 1, (value,))
