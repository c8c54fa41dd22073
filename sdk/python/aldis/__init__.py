"""Applications for the OpenFlow controller Aldis, in Python, that run in its sandbox.

The modules are named as those of Ryu, so that an application of Ryu's is ported by the lines of
its imports. A handler that returns ``STOP`` keeps its event from the applications that come later.
"""

from aldis._batch import STOP, count

__all__ = ["STOP", "count"]
__version__ = "0.1.0"
