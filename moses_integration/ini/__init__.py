"""A moses.ini: what Moses reads in it, which weight belongs to which feature, and edits."""
