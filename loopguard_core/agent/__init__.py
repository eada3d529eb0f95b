"""Context shaping, tool-call hygiene and a small agent session.

Every part is usable alone; `Session` puts them together. The extra `agent` brings what
`OpenAIRunner` and `StrictSchemaValidator` need, `otel` what `OpenTelemetryTracer` needs; without
them everything can be imported, and these say what is missing when they are made.
Source: the agent specification.
"""

from __future__ import annotations

from .arguments import (
    GatedArguments,
    Repair,
    RepairedJson,
    RepairOutcome,
    gate_arguments,
    repair_json,
    stand_in,
)
from .budget import CharsByFour, TokenEstimator, budget, message_tokens, tokens_of
from .chat import ChatMessage, ContentPart, ImagePart, ImageUrl, TextPart, ToolCall, ToolDefinition
from .dispatch import AbortTurn, SessionClosed, ToolDispatcher
from .entries import Compaction, CompactionInfo, Entry, EntryKind, EntryUsage, in_order, new_id
from .errors import (
    MalformedCallsError,
    MaxTurnsError,
    ModelLoopedError,
    RunningLoopError,
    SessionBusyError,
    StoreConflictError,
    ToolCallLoopError,
    TurnError,
    TurnStoppedError,
)
from .exchange_signature import ExchangeCounter, exchange_signature
from .heredoc import (
    HeredocFault,
    HeredocReply,
    close_heredoc,
    heredoc_grammar,
    heredoc_prompt,
    parse_heredoc,
    render_call,
)
from .lifting import LiftRequest, parse_clear_request, parse_lift_request, pending_result
from .neutral import neutralize_special_tokens
from .notices import NoticeKey, notice
from .pairing import repair_pairs
from .preparers import (
    DocFinder,
    DocHit,
    FinderOptions,
    FinderPreparer,
    MCPPreparer,
    NotificationPreparer,
    RevalidateStore,
    Revalidator,
    is_resolved_truth,
    parse_doc_hits,
    pointer_text,
)
from .render import ContextBuilder, RenderFormat, default_builder
from .result_cut import ResultCut, cut_result, head_and_tail
from .runner import (
    ChatOptions,
    Chunk,
    EndpointError,
    InputTooLargeError,
    LLMRunner,
    OpenAIRunner,
    OpenAIRunnerConfig,
    RunnerError,
    StreamIncompleteError,
    TokenReport,
    ToolCallCutError,
)
from .session import Session, TurnResult
from .shaping import (
    EmptySummaryError,
    FoldError,
    NotConvergedError,
    ShapePlan,
    Shaper,
    ShaperPolicy,
    Summarize,
    plan_shape,
    pristine_tail,
    reporting_compactions,
)
from .shortened import is_shortened
from .store import Inbox, MemoryStore, SqliteStore, Store
from .thread_shaping import FoldRecord, ThreadShape, ThreadShaper
from .tight import encode_tight_c
from .tool_hygiene import ToolHygiene
from .tracing import OpenTelemetryTracer, Span, Tracer
from .transclusion import SLOT_NOTE, Slots, expand_entries, placeholders, slots_of, with_slot_note
from .usage import TokenUsage, entry_usage
from .validation import SchemaValidator, StrictSchemaValidator, Validator, validating_dispatcher

__all__ = [
    "SLOT_NOTE",
    "AbortTurn",
    "CharsByFour",
    "ChatMessage",
    "ChatOptions",
    "Chunk",
    "Compaction",
    "CompactionInfo",
    "ContentPart",
    "ContextBuilder",
    "DocFinder",
    "DocHit",
    "EmptySummaryError",
    "EndpointError",
    "Entry",
    "EntryKind",
    "EntryUsage",
    "ExchangeCounter",
    "FinderOptions",
    "FinderPreparer",
    "FoldError",
    "FoldRecord",
    "GatedArguments",
    "HeredocFault",
    "HeredocReply",
    "ImagePart",
    "ImageUrl",
    "Inbox",
    "InputTooLargeError",
    "LLMRunner",
    "LiftRequest",
    "MCPPreparer",
    "MalformedCallsError",
    "MaxTurnsError",
    "MemoryStore",
    "ModelLoopedError",
    "NotConvergedError",
    "NoticeKey",
    "NotificationPreparer",
    "OpenAIRunner",
    "OpenAIRunnerConfig",
    "OpenTelemetryTracer",
    "RenderFormat",
    "Repair",
    "RepairOutcome",
    "RepairedJson",
    "ResultCut",
    "RevalidateStore",
    "Revalidator",
    "RunnerError",
    "RunningLoopError",
    "SchemaValidator",
    "Session",
    "SessionBusyError",
    "SessionClosed",
    "ShapePlan",
    "Shaper",
    "ShaperPolicy",
    "Slots",
    "Span",
    "SqliteStore",
    "Store",
    "StoreConflictError",
    "StreamIncompleteError",
    "StrictSchemaValidator",
    "Summarize",
    "TextPart",
    "ThreadShape",
    "ThreadShaper",
    "TokenEstimator",
    "TokenReport",
    "TokenUsage",
    "ToolCall",
    "ToolCallCutError",
    "ToolCallLoopError",
    "ToolDefinition",
    "ToolDispatcher",
    "ToolHygiene",
    "Tracer",
    "TurnError",
    "TurnResult",
    "TurnStoppedError",
    "Validator",
    "budget",
    "close_heredoc",
    "cut_result",
    "default_builder",
    "encode_tight_c",
    "entry_usage",
    "exchange_signature",
    "expand_entries",
    "gate_arguments",
    "head_and_tail",
    "heredoc_grammar",
    "heredoc_prompt",
    "in_order",
    "is_resolved_truth",
    "is_shortened",
    "message_tokens",
    "neutralize_special_tokens",
    "new_id",
    "notice",
    "parse_clear_request",
    "parse_doc_hits",
    "parse_heredoc",
    "parse_lift_request",
    "pending_result",
    "placeholders",
    "plan_shape",
    "pointer_text",
    "pristine_tail",
    "render_call",
    "repair_json",
    "repair_pairs",
    "reporting_compactions",
    "slots_of",
    "stand_in",
    "tokens_of",
    "validating_dispatcher",
    "with_slot_note",
]
