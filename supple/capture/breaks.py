"""The catalogue: why something is not captured, or not compiled, as data with stable codes.

The raise site gives the {facts}. Each code has an example in diagnose/examples, and a page made of both.
"""

from typing import Final

from supple.base.errors import Reason

_CATALOGUE: Final[dict[str, Reason]] = {}


def _reason(code: str, what: str, why: str, do: str) -> Reason:
    assert code not in _CATALOGUE, f"two reasons have the code {code}"
    made = Reason(code, what, why, do)
    _CATALOGUE[code] = made
    return made


def catalogue() -> tuple[Reason, ...]:
    """Return all reasons, by code."""
    return tuple(_CATALOGUE[code] for code in sorted(_CATALOGUE))


OPCODE: Final = _reason(
    "B101",
    "The instruction {op} is not captured.",
    "It is for code that is no body of a function (a module, a class), or for asynchronous generators.",
    "Write a function, or move this statement out of the compiled one.",
)
CALL: Final = _reason(
    "B102",
    "A call of {name} is not captured.",
    "It is not Python code that can be read, and no rule says what it does: it may have any effect.",
    "Move the call out of the compiled function, or put `supple.disable` around the function that needs it.",
)
DISABLED: Final = _reason(
    "B103",
    "A call of {name}, which is marked as disabled{message}.",
    "The function asks not to be compiled (`supple.disable` or `torch.compiler.disable`).",
    "Remove the mark, or call it outside of the compiled function.",
)
BRANCH_ON_TENSOR: Final = _reason(
    "B104",
    "A branch on the value of a tensor ({name}).",
    "The branch depends on numbers that exist only when the compiled code runs.",
    "Use torch.where(condition, a, b), or move the `if` out of the compiled function.",
)
TENSOR_VALUE: Final = _reason(
    "B105",
    "The value of a tensor is needed as a Python object: {name}.",
    "Its numbers, or a size that depends on them, exist only when the compiled code runs.",
    "Keep the value in a tensor, or move this line out of the compiled function.",
)
PRINT_TENSOR: Final = _reason(
    "B106",
    "`{name}` of a tensor.",
    "The text depends on numbers that exist only when the compiled code runs.",
    "Return the tensor and print it outside, or remove the line.",
)
ATTRIBUTE: Final = _reason(
    "B107",
    "The attribute `{name}` of {owner} is not captured.",
    "Reading or writing it runs code that cannot be followed.",
    "Move this line out of the compiled function.",
)
OPERATOR: Final = _reason(
    "B108",
    "The operator {name} on {kinds} is not captured.",
    "No rule says what it does for these types.",
    "Move this line out of the compiled function.",
)
OBJECT: Final = _reason(
    "B109",
    "An object of type {name} is not captured.",
    "The compiler cannot follow what happens to such an object: {detail}.",
    "Move its use out of the compiled function, or pass a plain tensor.",
)
REBUILD: Final = _reason(
    "B110",
    "A {name} made in the compiled function leaves it, or is needed in Python.",
    "The compiler cannot make such an object outside of the graph.",
    "Convert it to a tensor, a number or a plain container before it leaves.",
)
DEPTH: Final = _reason(
    "B111",
    "Calls are nested deeper than {limit}.",
    "Each level is captured; a recursion without a constant end would never finish.",
    "Raise `options={{'inline_depth': ...}}`, or move the recursion out.",
)
LEAF_ERROR: Final = _reason(
    "B112",
    "{name} raised {error}.",
    "The operation fails for these arguments in eager too, or its shape rule does not support them.",
    "Read the error; when eager accepts the call, please report it.",
)
ESCAPED: Final = _reason(
    "B113",
    "{name} was raised out of the compiled function.",
    "The call ends with an exception, which eager raises with the right traceback.",
    "Nothing, if the exception is meant.",
)
GENERATOR: Final = _reason(
    "B114",
    "A {name} is not captured.",
    "Its body runs on when the caller asks for it: a graph ends at each `yield`, a coroutine has none.",
    "Return a list, or compile the function that consumes it.",
)
SIDE_EFFECT: Final = _reason(
    "B115",
    "A change of {name} cannot be replayed.",
    "The object is not one whose change can be written as Python instructions.",
    "Move this line out of the compiled function.",
)
STEPS: Final = _reason(
    "B116",
    "Capture ran {limit} instructions without an end.",
    "Loops are unrolled, and this one does not end soon.",
    "Move the loop out of the compiled function, or raise `options={{'step_limit': ...}}`.",
)
NOT_CONSTANT: Final = _reason(
    "B119",
    "{op} needs a Python object that is known while capture runs.",
    "The value is made by the compiled function, or holds tensors.",
    "Move this line out of the compiled function, or use a plain constant.",
)
IMPORT: Final = _reason(
    "B120",
    "An import of {name}, which is not loaded yet.",
    "Loading a module runs its code, which may have any effect.",
    "Import it at the top of the file.",
)
CLASS_STATEMENT: Final = _reason(
    "B121",
    "A class statement.",
    "Each run makes a new class; the compiler does not make classes.",
    "Move the class to the top of the file.",
)
RANDOM: Final = _reason(
    "B122",
    "A call of {name}, whose result may be another each time.",
    "Its result would be frozen into the compiled code.",
    "Call it outside and pass the result as an argument; torch.rand and its like are captured.",
)
OUTSIDE: Final = _reason(
    "B123",
    "A call of {name}, which reads or changes the world outside of the program.",
    "It must run each time, at its place among the other effects.",
    "Move the call out of the compiled function.",
)
NUMPY: Final = _reason(
    "B124",
    "A call of NumPy: {name}.",
    "No torch function is known to give the same numbers, of the same types, for these arguments.",
    "Use the torch function of the same name, or move the call out of the compiled function.",
)
SET_ORDER: Final = _reason(
    "B125",
    "The order of the members of a set ({name}) is used.",
    "It depends on how the set was built, which is known of sets of constants made in the call alone.",
    "Use sorted(...), a list or a dict.",
)
EXCEPTION_GROUP: Final = _reason(
    "B126",
    "An `except*` block.",
    "Exception groups are not followed.",
    "Handle the group outside of the compiled function.",
)
SCRIPTED: Final = _reason(
    "B127",
    "A call of {name}, which torch.jit compiled.",
    "It is a program of another compiler, without Python code.",
    "Call the plain Python function.",
)
LOGGING: Final = _reason(
    "B128",
    "A call of {name}.",
    "Handlers and filters of logs and warnings may do anything.",
    "Move the call out of the compiled function, or guard it with `not torch.compiler.is_compiling()`.",
)
AUTOGRAD: Final = _reason(
    "B129",
    "A call of {name}.",
    "It changes gradients or hooks of tensors, which capture does not follow.",
    "Call it outside of the compiled function, on its result.",
)
DATA_SIZE: Final = _reason(
    "B130",
    "The program needs to know {condition}, which depends on the contents of a tensor ({origin}).",
    "Such a number is known only when the compiled code runs: no branch can be chosen, no loop unrolled.",
    "State what always holds before this line, `torch._check({condition})`, or use tensor operations.",
)
USER_BREAK: Final = _reason(
    "B118",
    "`supple.graph_break()` was called{message}.",
    "The program asks for a break here.",
    "Remove the call.",
)
SHARED: Final = _reason(
    "B132",
    "`torch.from_numpy` for memory that another tensor has, and that is written later.",
    "Each has a storage of its own, which torch looks at when it writes; in a graph they are views of one.",
    "Keep one tensor and take views of it, or copy the array first.",
)
FRAMES: Final = _reason(
    "B133",
    "A use of {name}, which shows frames of the program.",
    "Compiled code has other frames than the program, so the whole call runs eager.",
    "Hand over what the function looks for, or take it out of the compiled function.",
)
CAST_WITHIN: Final = _reason(
    "B134",
    "A call of {name} under autocast.",
    "Autocast casts what its kernel calls, and not the operator itself, which is all that a graph holds.",
    "Call it in a block with autocast switched off, on tensors of the dtype that you want.",
)
RELATED: Final = _reason(
    "B135",
    "{name} gives {target} a history for autograd, or a requirement of gradients, which {other} shows too.",
    "Torch says of a view what it says of its base; the inputs of a graph are no views of each other.",
    "Hand one of them over and take the view inside, or a clone.",
)
UNSEEN: Final = _reason(
    "B136",
    "{name} writes, unseen by autograd, to what {view} shows: a view made without gradients, or of several.",
    "What torch says of the view afterwards, and whether it may be used at all, depends on how it was made.",
    "Write to a clone, or take the view inside, after the write.",
)
REFUSED_WRITE: Final = _reason(
    "B137",
    "{name} raised {error}.",
    "Eager refuses the write for how the view was made. Graphs do not tell that, so the call runs eager.",
    "Write to a clone, or make the view in the mode in which it is written.",
)
SHOWN_OR_COPIED: Final = _reason(
    "B138",
    "{name} writes to memory that two tensors share, unless a size is 0 or 1.",
    "`reshape` and `contiguous` show their operand or copy it, by its sizes. The call runs eager for these.",
    "Copy by `clone` what is written, whatever its sizes are.",
)
CACHED: Final = _reason(
    "B139",
    "A call of {name}, which is behind a cache and {why}.",
    "The compiler asks a cache when it compiles, and before each call: earlier than your function does.",
    "Let a cached function only compute, or call it outside of the compiled function.",
)
FORCED: Final = _reason(
    "B131", "A break before instruction {number}.", "The option break_at asks for it.", "Set the option to 0."
)
SKIPPED: Final = _reason(
    "U103",
    "`supple.skip_frame()` was called{message}.",
    "The program asks for this call to run eager.",
    "Remove the call, or ask for `supple.graph_break()`: the rest is captured then.",
)
STANCE: Final = _reason(
    "U104",
    "`supple.set_stance` in compiled code.",
    "A stance decides whether this very code is compiled, before it runs.",
    "Set it around the call of the compiled function.",
)
LIMIT: Final = _reason(
    "G101",
    "{function} hit the {limit}.",
    "The last reason for which it was compiled again: {last}. To go on costs more than it gains.",
    "Keep constant what changes, or raise the limit. SUPPLE_LOGS=recompiles prints all reasons.",
)
FORBIDDEN: Final = _reason(
    "G102",
    "{function} would be compiled, and {by} forbids it.",
    "Its entries do not serve this call: {failed}.",
    "{hint} SUPPLE_LOGS=recompiles prints all reasons.",
)
FAILED: Final = _reason(
    "I001",
    "The compiler failed: {error}.",
    "This is a bug in supple, or in the backend, and not in your program.",
    "Please report it with {note}. `supple.disable` on the function avoids it meanwhile.",
)
