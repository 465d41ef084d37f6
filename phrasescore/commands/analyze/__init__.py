"""The command lines of ``analyze``, one file for each of its subcommands."""
