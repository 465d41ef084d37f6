"""Models of p(target | source): their common interface, networks, and folders on disk."""
