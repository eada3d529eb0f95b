"""Does the loop converge: equal calls inside a window, a state that stands still, a depth.

Source: the converge specification. A `Monitor` is fed one run's events and does no I/O.
"""

from .config import ConvergeConfig, Response
from .monitor import Monitor
from .verdict import ConvergeVerdict

__all__ = ["ConvergeConfig", "ConvergeVerdict", "Monitor", "Response"]
