"""What fits into the context window, and does the thread go round.

Source: thread specification. Everything here is a pure function of the messages it is given,
except `StreamGuard` and `ThreadWatch`, which keep the small state of one reply and of one thread.
"""

from __future__ import annotations
