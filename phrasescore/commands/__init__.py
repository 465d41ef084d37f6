"""Command lines: parse, call, report. Heavy libraries are imported inside the commands."""
