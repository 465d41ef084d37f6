"""Models of p(target phrase | source phrase): the network, its loss, its folder on disk.

``encoder_decoder`` is the paper's model from top to bottom. Another kind of model is another file
here, with its own settings and a line in ``folder.build``.
"""
