"""Where each step of a graph is drawn: receives a graph, returns positions, lanes and the lines between them.

Pure Python, no database. The steps are put into columns (`columns`), ordered within them so that few lines
cross (`order`), given rows (`rows`), and joined by lines with corners (`lines`). The unit is a CSS pixel at
100 % zoom.
"""

from stepwell.layout.drawing import LAYOUT_VERSION, Box, Drawing, Lane, Line, Scope
from stepwell.layout.lay_out import lay_out

__all__ = ["LAYOUT_VERSION", "Box", "Drawing", "Lane", "Line", "Scope", "lay_out"]
