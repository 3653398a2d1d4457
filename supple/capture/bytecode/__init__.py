"""Code objects in and out of one version-normal instruction set.

The normal form in one place (`tables.EFFECTS` has every op with what it pops and pushes):

* No CACHE, EXTENDED_ARG, PRECALL, RESUME, END_FOR and no op that does the work of two.
* A callable lies above the NULL: (NULL, callable, arguments...) or (method, self, arguments...). Where
  CPython 3.13 pushes the NULL after the callable, decoding yields PUSH_NULL, SWAP 2.
* LOAD_METHOD and LOAD_SUPER_ATTR as a method push (method, self) or (NULL, attribute).
* LOAD_SPECIAL, by which 3.14 begins a `with`, pushes a method of the class in the same two slots.
* CALL's arg is (positional arguments, names of the keyword arguments on top of them).
* POP_JUMP_IF_TRUE, POP_JUMP_IF_FALSE and UNARY_NOT test truth themselves.
* FOR_ITER at the end pops the iterator and goes to `target`, past any clean-up.
* SEND pops the value; while the receiver yields, it pushes what was yielded; at the end it replaces the
  receiver by the result and goes to `target`. END_SEND drops the receiver under the result of CLEANUP_THROW.
* RETURN_GENERATOR hands the frame over as a generator and pushes the value that starts it.
* YIELD_VALUE's arg is (kind, is_outermost): kind 1 `yield`, 2 `yield from`, 3 `await`; is_outermost when only
  the generator's own handler encloses it.
* LOAD_FAST and LOAD_DEREF raise when there is no value. Fast locals, cells and free variables go by name.
* Class scopes read a captured variable by LOAD_LOCALS, LOAD_FROM_DICT_OR_DEREF.
"""

from supple.capture.bytecode.assemble import Jump as Jump
from supple.capture.bytecode.assemble import Label as Label
from supple.capture.bytecode.assemble import Protected as Protected
from supple.capture.bytecode.assemble import assemble as assemble
from supple.capture.bytecode.decode import decode as decode
from supple.capture.bytecode.encode import encode as encode
from supple.capture.bytecode.instruction import Decoded as Decoded
from supple.capture.bytecode.instruction import Header as Header
from supple.capture.bytecode.instruction import Instruction as Instruction
from supple.capture.bytecode.instruction import Position as Position
from supple.capture.bytecode.instruction import Region as Region
