"""How the experiments' curves are labelled."""

from matplotlib.axes import Axes

from philly_analysis.figures import legend


def below(ax: Axes) -> None:
    """Put the legend under the panel, where it hides no curve."""
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, handlelength=1.4)


def heading(ax: Axes, text: str) -> None:
    """Name a panel."""
    ax.set_title(text, loc="left", fontsize=9.5, fontweight="bold")
