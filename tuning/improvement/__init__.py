"""One better system from a system or parallel text: the steps, the decisions and their page."""
