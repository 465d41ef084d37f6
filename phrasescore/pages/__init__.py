"""Pages: single HTML files that a browser shows without a network, filled by a template engine.

Every text that goes into a page is untrusted: the templates escape it, and data for a page's own
scripts travels as JSON that cannot end its element. Jinja2 comes with the extra ``report``.
"""
