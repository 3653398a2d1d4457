"""Classes: properties, slots, inheritance, `__getattr__`; changed between calls."""

from typing import Final

from tests.fuzz.grammar import Grammar

CLASSES: Final = Grammar(
    "classes",
    parameters=("Obj", "Obj", "I"),
    leaves={"Obj": ("Shape(2)",), "Kind": ("Shape", "Square"), "Net": ("Block()",)},
    expressions={
        "T": (
            "$Obj.go($T)",
            "$Obj.go($T)",
            "$Obj($T)",
            "$Obj.area * $T",
            "$Obj.made($T)",
            "$Obj.fixed($T)",
            "$Kind.made($T)",
            "$Kind.fixed($T)",
            "type($Obj).go($Obj, $T)",
            "$T * $Obj.scale",
            "($T * $Obj)",
            "($T if $Obj else -$T)",
            "$T * len($Obj)",
            "block($T)",
            "getattr($Obj, $S + 'go', lambda x: x)($T)",
            "$T + ($I if $Obj < $Obj else 1)",
            "sum([$T * each for each in $Obj], $T)",
            "$T * $Obj[$I]",
        ),
        "I": (
            "$Obj.n",
            "$Obj.area",
            "getattr($Obj, 'missing', 4)",
            "getattr($Obj, 'extra', 5)",
            "$Kind.scale",
            "len($Obj)",
            "len($Kind.__mro__)",
            "len(vars($Obj))",
            "$Obj[$I]",
            "int($Obj)",
            "$Kind.count",
            "len(type($Obj).__name__)",
            "len($Kind.__bases__[0].__name__)",
            "hashed($Obj)",
            "len(asked)",
        ),
        "B": (
            "bool($Obj)",
            "isinstance($Obj, $Kind)",
            "isinstance($Obj, Named)",
            "isinstance($Obj, (dict, Other))",
            "issubclass($Kind, Shape)",
            "hasattr($Obj, 'extra')",
            "hasattr($Kind, 'extra')",
            "callable($Obj)",
            "type($Obj) is $Kind",
            "$Obj == $Obj",
            "$I in $Obj",
            "'go' in vars($Kind)",
        ),
        "S": ("str(list(vars($Obj)))", "type($Obj).__name__", "repr($Obj)", "str($Kind.__doc__)", "$Kind.__qualname__", 'f"{$@Obj}"'),
        "Obj": ("($Obj if $B else $Obj)", "$Kind($I)", "type($Obj)($I)", "$Obj.copied()", "plain($Kind, $I)"),
        "Kind": ("type($Obj)", "($Kind if $B else $Kind)", "type($Obj).__mro__[0]"),
    },
    statements=(
        "$@Obj.n = $I",
        "$@Obj.n += 1",
        "$@Obj.area = $I",
        "$@Obj.extra = $I",
        "$@Obj.scale = $I",
        "$@Obj.extra = 1\n$=I = $I\ndel $@Obj.extra\n$@Obj.other = $I\n$@Obj.extra = $=I",
        "$=Obj = $Obj",
        "$=T = $Obj.go($T)",
        "$=T = $Obj.go($T)",
        "$@Obj[$I] = 1",
        "setattr($@Obj, 'n', $I)",
        "with $Obj:\n    $=T = $T * 2",
    ),
    preamble='''
class Named:
    """Has a name."""

class Base:
    """Counts."""

    scale = 2
    count = 0

    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n

    def __int__(self):
        return self.n

    def __hash__(self):
        return self.n

    def __repr__(self):
        return "Base"

    def __call__(self, x):
        return x + self.n

    def __getitem__(self, key):
        return self.n - key

    def __setitem__(self, key, value):
        self.n = key + value

    def __iter__(self):
        return iter((self.n, 3))

    def __mul__(self, other):
        return other * self.n

    __rmul__ = __mul__

    def __len__(self):
        return abs(self.n) % 7

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def go(self, x):
        return x * self.n + self.scale

    @property
    def area(self):
        return self.n * 2

    @area.setter
    def area(self, value):
        self.n = value

    @classmethod
    def made(cls, x):
        return x + cls.scale

    @staticmethod
    def fixed(x):
        return x - 1

    def copied(self):
        return type(self)(self.n)

class Shape(Base):
    def go(self, x):
        return super().go(x) * 2

    def __len__(self):
        return abs(self.n) % 5

    def __getattr__(self, name):
        if name == "missing":
            return 3
        raise AttributeError(name)

class Square(Shape):
    scale = 5

    def go(self, x):
        return Shape.go(self, x) - super().fixed(x)

    def __getitem__(self, key):
        return self.n + key

    def __enter__(self):
        self.n += 1

    def __exit__(self, *error):
        self.n -= 1

class Slots(Base):
    __slots__ = ("last",)

    def go(self, x):
        self.last = x
        return x * 2

class Other(Base):
    """Another base."""

    scale = 7

    def go(self, x):
        return x - self.n

    def __bool__(self):
        return self.n > 1

    def __call__(self, x):
        return x * self.scale

class Saying(Shape):
    """Says that it is another class's."""

    __class__ = property(lambda self: dict if self.n > 1 else Other)

class Block(nn.Module):
    factor = 2

    def forward(self, x):
        return x * self.factor + self.shift()

    def shift(self):
        return 1

block = Block()
kept = Shape(3)
asked = []

def noting(self, name):
    if name == "__dict__" or not name.startswith("__"):  # operators of torch ask for many more
        asked.append(name)
    return object.__getattribute__(self, name)

def go_other(self, x):
    return x * 10 + self.n

def plain(kind, n):
    made = object.__new__(kind, n)
    made.n = n
    return made
''',
    globals={"Obj": "kept"},
    arguments={
        "Obj": (
            "Shape(2)", "Square(3)", "Shape(0)", "Slots(1)", "Other(2)", "Other(1)", "Square(1)", "kept", "Base(4)",
            "Saying(1)", "Saying(2)",
        ),
    },
    aliases={"Obj": ("$@Obj",)},
    before=(
        "Shape.go = go_other",
        "Base.go = go_other",
        "Square.go = Base.go",
        "del Square.go",
        "Shape.scale = $I",
        "Base.scale = $I",
        "Base.count = $I",
        "Base.area = property(lambda self: self.n * 3)",
        "Base.area = 4",
        "Shape.__bases__ = (Other,)",
        "Square.__bases__ = (Other,)",
        "Shape.__bool__ = lambda self: self.n > 2",
        "Shape.__call__ = go_other",
        "Base.__call__ = go_other",
        "Shape.__len__ = lambda self: 4",
        "Shape.__getattr__ = lambda self, name: 9 if name in ('missing', 'extra') else 4 // (name == 'other')",
        "Shape.__eq__ = lambda self, other: True",
        "Base.__mul__ = lambda self, other: other * 2",
        "Base.__rmul__ = lambda self, other: other * 2",
        "Base.__getitem__ = lambda self, key: key",
        "Base.__iter__ = lambda self: iter([1, 2])",
        "Base.__lt__ = lambda self, other: True",
        "Base.__contains__ = lambda self, key: key == 2",
        "Base.__int__ = lambda self: 2",
        "Base.__repr__ = lambda self: 'base'",
        "Base.__hash__ = lambda self: 2",
        "Base.__doc__ = 'changed'",
        "Shape.__name__ = 'Form'",
        "Base.extra = $I",
        "Base.missing = $I",
        "Base.made = classmethod(lambda cls, x: x * 3)",
        "Base.fixed = staticmethod(lambda x: x * 3)",
        "Base.__setattr__ = lambda self, name, value: object.__setattr__(self, name, 8)",
        "Base.__getattribute__ = lambda self, name: object.__getattribute__(self, name)",
        "Base.__getattribute__ = noting",
        "Base.__class__ = property(lambda self: dict)",
        "Shape.__class__ = property(lambda self: Other)",
        "Base.__init__ = lambda self, n: setattr(self, 'n', n + 1)",
        "Base.__new__ = staticmethod(lambda cls, n: object.__new__(cls))",
        "kept.__class__ = Square",
        "kept.__class__ = Other",
        "kept.go = lambda x: x * 4",
        "kept.n = $I",
        "kept.scale = $I",
        "kept.extra = $I",
        "Block.factor = $I",
        "Block.shift = lambda self: 4",
        "Block.forward = lambda self, x: x - 1",
        "block.factor = $I",
        "block.shift = lambda: 6",
        "block.forward = lambda x: x * 3",
        "Base.go.__defaults__ = None",
        "go_other.__code__ = (lambda self, x: x * 20).__code__",
        "Base.go.__code__ = go_other.__code__",
    ),
    most_calls=5,
)  # fmt: skip
