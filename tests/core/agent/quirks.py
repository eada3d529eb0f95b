"""The conformance cases that show a quirk which is mended here, and what is expected instead."""

from __future__ import annotations

from typing import Final

__all__ = ["FIXED"]

FIXED: Final[dict[str, str]] = {
    "args_gate-025": "Q01: text behind the object makes the arguments malformed",
    "args_gate-026": "Q01: a second object behind the first one likewise",
    "finder_preparer-010": "Q08: a document that was found twice is pointed out once",
    "heredoc_grammar-001": "Q06: prose is allowed unless `allow_prose=False`",
    "heredoc_grammar-003": "Q06: likewise",
    "heredoc_grammar-007": "Q06: likewise",
    "heredoc_parse-016": "Q02: the terminators behind the calls are no prose",
    "heredoc_parse-019": "Q02: the terminator behind the call is no prose",
    "lod_stub-004": "Q18: a stub that is no shorter than its text is not shown",
    "lod_stub-010": "Q07: the start of a stub ends with a whole character",
    "toolfmt-080": "Q12: a stray closing bracket makes a text no JSON",
    "turn_args-006": "Q01: a call with text behind its object is refused, not run",
    "turn_cut-004": "Q09: a cut in arguments leaves the prose beside them whole",
    "turn_heredoc-003": "Q02, Q05: no terminator in the prose; a call has an id in the store",
    "turn_heredoc-004": "Q02, Q03, Q05, Q20: as -003; replayed as text; no blank lines at the top",
    "turn_heredoc-005": "Q04, Q20: a malformed call is answered with a notice and another round",
    "turn_heredoc-006": "Q20: the system text does not begin with blank lines",
    "turn_heredoc-008": "Q02, Q05, Q20: as -003 and -006",
    "turn_inbox-005": "Q19: a clock that stands still gives strictly increasing times",
    "turn_prompt-006": "Q20: the system text does not begin with blank lines",
    "validator-029": "Q10: types in a list are alternatives, and what is required still is",
    "validator-030": "Q10: a boolean property schema constrains nothing else",
}
