"""What a scan of saved runs reports: rows for programs, and a table for a terminal.

The table needs the `cli` extra and is not imported here.
"""

from __future__ import annotations

from .row import ScanFinding, ScanRow
from .scan import scan, scan_reply, scan_run

__all__ = ["ScanFinding", "ScanRow", "scan", "scan_reply", "scan_run"]
