"""Maps in two dimensions of phrases or words: chosen, laid out, grouped, and drawn or browsed.

Points that are near each other in the map are so in the model; far distances and directions mean
nothing. The layout is Barnes-Hut t-SNE, with which the paper drew its figures 4 and 5.
"""
