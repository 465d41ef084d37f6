"""Tables 2 and 3 of Cho et al. (2014): which targets table and model prefer, and what it writes."""
