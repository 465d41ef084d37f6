"""The outer loop: decode, merge, optimise, repeat; its files and its folder."""
