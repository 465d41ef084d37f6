"""Neural language models where torch is not loaded: read, and asked in bulk with numpy."""
