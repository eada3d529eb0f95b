"""A history brought into a token budget: a tail left alone, stubs, and folds.

Source: agent specification, section 5.
"""

from __future__ import annotations

from .errors import EmptySummaryError, FoldError, NotConvergedError
from .plan import ShapePlan, plan_shape
from .policy import HISTORY_HEADING, ShaperPolicy
from .shaper import Shaper
from .sink import report_compaction, reporting_compactions, sending_beside
from .stub import stub_arguments, stub_text
from .summary import (
    SUMMARY_INSTRUCTION,
    SUMMARY_SYSTEM,
    Summarize,
    runner_summarizer,
    summary_in,
    summary_messages,
    summary_prompt,
)
from .tail import pristine_tail, whole_rounds

__all__ = [
    "HISTORY_HEADING",
    "SUMMARY_INSTRUCTION",
    "SUMMARY_SYSTEM",
    "EmptySummaryError",
    "FoldError",
    "NotConvergedError",
    "ShapePlan",
    "Shaper",
    "ShaperPolicy",
    "Summarize",
    "plan_shape",
    "pristine_tail",
    "report_compaction",
    "reporting_compactions",
    "runner_summarizer",
    "sending_beside",
    "stub_arguments",
    "stub_text",
    "summary_in",
    "summary_messages",
    "summary_prompt",
    "whole_rounds",
]
