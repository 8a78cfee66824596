"""Documents: PDF, HTML, Markdown, text and office files, read as streams of elements."""
