"""The text of a Moses phrase table: lines, blocks of lines, and what only looks like one."""
