"""Reading and editing a moses.ini: its settings, its features and their weights."""
