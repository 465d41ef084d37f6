"""What would go wrong with a Moses system: looked for before hours of tuning, not found after."""
