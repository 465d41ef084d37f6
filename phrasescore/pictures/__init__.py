"""Pictures: figures in files, drawn with matplotlib, which only the extra ``report`` brings."""
