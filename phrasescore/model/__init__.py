"""Models of p(target | source): what every kind offers, its network, its folder on disk."""
