"""When objects die: `__del__`, weak references; inside one call it is known to differ."""

from typing import Final

from tests.fuzz.grammar import Grammar

CLASS: Final = """
_deaths = []

class Noted:
    other = None

    def __init__(self, name, value=None):
        self.name = name
        self.value = value

    def __del__(self, deaths=_deaths):
        deaths.append(self.name)

cache = weakref.WeakKeyDictionary()
names = weakref.WeakValueDictionary()
lasting = Noted("kept", torch.ones(3))
"""

ENDING: Final = """
ends = []

class Ending:
    def __del__(self):
        ends.append(1)

def holding(name, value, other):
    made = Noted(name, value)
    made.other = other
    return made
"""

CLOSING: Final = """
closed = []

def closing():
    try:
        yield len(closed)
    finally:
        closed.append(1)
"""

WEAK: Final = Grammar(
    "weak",
    parameters=("Obj", "Ref"),
    leaves={"Obj": ("lasting",), "Ref": ("weakref.ref(lasting)",)},
    expressions={
        "T": ("($Ref() or lasting).value", "$Obj.value", "cache.get($Obj, $T)", "sum(cache.values(), $T)"),
        "I": ("len(cache)", "len(names)"),
        "B": ("$Ref() is $Obj", "$Ref() is None", "$Obj in cache", "$S in names", "$Ref == $Ref"),
        "Obj": ("names.get($S, $Obj)", "($Ref() or $Obj)", "($Obj if $B else $Obj)"),
        "Ref": ("weakref.ref($Obj)",),
    },
    statements=(
        "cache[$Obj] = $T",
        "names['a'] = $Obj",
        "cache.pop($Obj, None)",
        "$@Obj.value = $T",
        "$@Obj.other = $I\n$=I = len(ends)",
        "$@Obj.other = [Ending()]\n$=T = $T * 2",
        "$=T = $Obj.value * 2",
        "$=Ref = weakref.ref($Obj)",
        "$=Obj = Noted('held', $T)\n$=Ref = weakref.ref($=Obj)\nsupple.graph_break()\n$=B = $=Ref() is None",
        "$=Obj = Noted('held', $T)\nnames['held'] = $=Obj\nprint($F)\n$=I = len(names)",
        "$=G = closing()\n$=I = next($=G)\nsupple.graph_break()\n$=I2 = len(closed)",
    ),
    preamble=CLASS + ENDING + CLOSING,
    globals={"Obj": "lasting"},
    arguments={
        "Obj": (
            "Noted('a', tensor(2))",
            "Noted('b', tensor(1))",
            "lasting",
            "holding('c', tensor(2), Ending())",
            "holding('d', tensor(2), [3])",
        ),
        "Ref": ("weakref.ref(lasting)", "weakref.ref(Noted('dead'))"),
    },
    aliases={"Ref": ("weakref.ref($@Obj)",)},
    calls=(
        "made = program(*arguments_0())\nmade = None\ngc.collect()\nreturn sorted(_deaths)",
        "made = program(*args)\nreturn made, len(cache), sorted(names)",
    ),
)

FINALISERS: Final = Grammar(
    "finalisers",
    leaves={"Obj": ("Noted('new', torch.ones(3))",), "Ref": ("weakref.ref(lasting)",)},
    expressions={
        "T": ("$Obj.value",),
        "I": ("len(_deaths)", "weakref.getweakrefcount($Obj)"),  # guards refer to objects weakly
        "B": ("$Ref() is None",),
        "Ref": ("weakref.ref($Obj)",),
    },
    statements=(
        "$=Obj = Noted('one', $T)",
        "del $.Obj\n$.Obj = Noted('two', $T)",
        "$.Obj = None or Noted('three', $T)",
        "Noted('four', $T)",
        "$=Ref = weakref.ref(Noted('five', $T))",
        "$=I = len(_deaths)",
        "history.append(len(_deaths))",
    ),
    preamble=CLASS + "history = []\n",
    is_known=True,
)
