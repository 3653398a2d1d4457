"""Verification: a compiled graph is compared with eager in calls that the user chose.

What a difference is, `compare` says; its smallest cause is looked for by `guilty`.
"""

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supple.base import events
from supple.base.errors import one_line
from supple.diagnose.compare import Raised, Run, differences
from supple.diagnose.guilty import Setting, explained
from supple.diagnose.precision import NotCompared
from supple.ir.graph.interp import compile_python
from supple.ir.graph.nodes import Graph
from supple.shapes.env import active

_log: Final = logging.getLogger("supple")


class Verified:
    """A compiled graph that is compared with eager in some of its calls; all calls take and return the same.

    Attributes:
        graph: what was captured.
    """

    def __init__(self, graph: Graph, run: Run, setting: Setting) -> None:
        self.graph = graph
        self._run = run
        self._setting = setting
        self._share = setting.options.verified_share() or 0.0
        self._calls = 0
        self._random = random.Random(0)

    def __call__(self, *inputs: object) -> tuple[object, ...]:
        """Run the graph.

        Raises:
            VerificationError: what it leaves differs from eager, unless that is to be logged only. Inputs
                are as they were.
        """
        self._calls += 1
        if self._calls == 1 if not self._share else self._random.random() < self._share:
            self._verify(inputs)
        return self._run(*inputs)

    def _verify(self, inputs: Sequence[object]) -> None:
        try:
            found, text = differences(self.graph, self._run, inputs)
        except NotCompared as error:
            found, text = (), f"not compared: {error}"
            self._share = 0.0
        except Raised as error:
            # It raises that again when it runs outside of verification.
            found, text = (), f"not compared: {error}"
        events.emit(events.GraphVerified(text))
        if not found:
            return
        error = explained(self.graph, self._setting, inputs, found[0])
        if self._setting.options.verify_action == "raise":
            raise error
        _log.warning("%s", one_line("A graph", error, "runs eager from now on"))
        self._run, self._share = compile_python(self.graph), 0.0


def verified(graph: Graph, run: Run, setting: Setting) -> Run:
    """Return a compiled graph that compares itself with eager as the options say; its ShapeEnv is active."""
    return Verified(graph, run, replace(setting, env=active()))
