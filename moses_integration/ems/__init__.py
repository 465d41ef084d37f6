"""Moses's experiment management system (EMS): a step that rescores the phrase table."""
