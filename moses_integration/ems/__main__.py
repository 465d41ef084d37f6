"""``python -m moses_integration.ems``: the step for EMS's hook custom-phrase-table-pruning."""

from moses_integration.ems.rescoring_step import main

main()
