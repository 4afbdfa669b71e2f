"""A report as a reader sees it: `showing` writes plain text, `card` the same as HTML."""
