"""Which objects are the same: sets, dicts by object, `is`, `in`, ids, tied parameters; aliases in turn."""

from typing import Final

from tests.fuzz.grammar import Grammar

IDENTITY: Final = Grammar(
    "identity",
    parameters=("T", "Obj", "Obj", "Net", "Net", "Xs", "Table"),
    leaves={
        "Obj": ("Thing(1)",),
        "Net": ("Layer(2)",),
        "Xs": ("[torch.ones(3)]",),
        "Table": ("{}",),
    },
    expressions={
        "I": (
            "len({$T, $T})",
            "len({$T, $T, $T})",
            "len({id($@T), id($@T)})",
            "len({$Obj, $Obj})",
            "len({$Obj: 1, $Obj: 2})",
            "{$Obj: 1, $Obj: 2}[$Obj]",
            "{$T: 1}.get($T, 0)",
            "{$Net: 1, $Net: 2}.get($Net, 3)",
            "{id($@T): 1, id($@T): 2}.get(id($@T), 3)",
            "[$Obj, $Obj].index($Obj)",
            "[$Obj, $Obj, $Obj].count($Obj)",
            "len(set(map(id, $@Xs)))",
            "len(set($Xs))",
            "len(list($Net.parameters()))",
            "len(list(nn.ModuleList([$Net, $Net]).parameters()))",
            "len(list(nn.ModuleList([$Net, $Net]).modules()))",
            "len({*$Net.parameters(), *$Net.parameters()})",
            "sum(each is $T for each in $!Xs)",
            "sum(p is q for p in $!Net.parameters() for q in $!Net.parameters())",
            "len(dict.fromkeys($Xs))",
            "len(set(each.data_ptr() for each in $!Xs))",
            "len($Table)",
            "$Table.get($Obj, 0)",
            "len(copied($Obj, $Obj))",
            "$Obj.n",
        ),
        "B": (
            "$T is $T",
            "$Obj is $Obj",
            "$Net is $Net",
            "$Net.weight is $Net.weight",
            "id($@T) == id($@T)",
            "id($@Obj) != id($@Obj)",
            "$Obj in [$Obj, $Obj]",
            "$Obj in {$Obj, $Obj}",
            "$Obj in ($Obj,)",
            "$Obj == $Obj",
            "hash($Obj) == hash($Obj)",
            "any(each is $T for each in $!Xs)",
            "$T._base is $T",
            "$@T.data_ptr() == $@T.data_ptr()",
            "$Xs is $Xs",
            "$Obj in $Table",
            "$Obj.value is $Obj.value",
            "$T.grad is None",
            "$T.is_set_to($T)",
            "operator.is_($T, $T)",
            "{$Obj} <= {$Obj, $Obj}",
            "{$Obj}.isdisjoint({$Obj})",
        ),
        "T": (
            "$Obj.value",
            "$Net($T)",
            "$Xs[0]",
            "$Xs[-1]",
            "($T * len({$T, $T}))",
            "sum(dict.fromkeys($Xs), $T)",
            "sum({each: each for each in $!Xs}.values(), $T)",
            "sum(set($Xs), $T) * 0",
            "copy.deepcopy([$T.detach(), $T.detach()])[0]",
            "copied($Obj, $Obj)[0].value",
            "dict([(id($@T), $T), (id($@T), $T)])[id($@T)]" ,
        ),
        "Obj": ("($Obj if $B else $Obj)", "$Obj.other", "Thing($I)", "Equal($I)"),
        "Xs": ("[$T, $T]", "[*$Xs, $T][:3]", "list($Net.parameters())", "[$Obj.value, $Obj.value]"),
        "Table": ("{$Obj: $I, $Obj: $I}",),
    },
    statements=(
        "$=I = len({$T, $T})",
        "$@Obj.other = $Obj",
        "$@Obj.value = $T",
        "$@Obj.value = $Obj.value",
        "$@Table[$Obj] = $I",
        "$@Table.pop($Obj, None)",
        "$@Xs.append($T)",
        "$@Xs[0] = $T",
        "$=Obj = Thing($I)",
        "$=Obj = $Obj",
        "$@Net.weight = $Net.weight",
        "$@Net.count += 1",
        "$=T = torch.stack([p.sum() * 2 for p in {*$Net.parameters(), *$Net.parameters()}]).sort().values",
    ),
    preamble="""
class Thing:
    def __init__(self, n, value=None):
        self.n = n
        self.value = torch.ones(3) if value is None else value
        self.other = self

class Equal(Thing):
    def __eq__(self, other):
        return isinstance(other, Thing) and self.n == other.n

    def __hash__(self):
        return hash(self.n)

def copied(*things):
    return copy.deepcopy([one for one in things if isinstance(one, Thing)])

common = Thing(1)
net = Layer(1)
net2 = Layer(1)
""",
    globals={"Obj": "common", "Net": "net"},
    arguments={
        "Obj": ("Thing(1)", "Thing(2)", "Equal(1)", "Equal(2)", "common", "Thing(1, common.value)"),
        "Net": ("Layer(1)", "Layer(2)", "net", "net2", "nn.Sequential(net, net)", "nn.Sequential(net, net2)"),
        "Xs": ("[tensor(2)]", "[tensor(2), tensor(2)]", "[tensor(1)] * 2", "[common.value, net.weight]"),
        "Table": ("{}", "{common: 2}", "{Equal(1): 3}"),
        "T": ("common.value", "net.weight", "tensor(2)"),
    },
    aliases={
        "T": ("$@T", "$@T", "$@T", "$@T.view_as($@T)", "$@T.detach()"),
        "Obj": ("$@Obj", "$@Obj", "Thing(1, $@T)", "Equal(1, $@T)"),
        "Net": ("$@Net", "$@Net", "tied(Layer(1), $@Net)", "nn.Sequential($@Net, $@Net)"),
        "Xs": ("[$@T, $@T]", "[$@T, tensor(2)]", "[$@T, $@T, $@T]"),
        "Table": ("{$@Obj: 1}", "{$@Obj: 1, common: 2}"),
    },
    before=(
        "net2.weight = net.weight",
        "net2.weight = nn.Parameter(torch.ones(3))",
        "common.other = Thing(3)",
        "common.value = net.weight",
        "net2.seen = net.seen",
    ),
    most_calls=5,
)  # fmt: skip
