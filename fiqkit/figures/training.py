"""What training looked like, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from fiqkit.figures.style import PALETTE, RULE, Row, canvas, entries_of, legend_above, styled

_DRAWN = {
    "loss": ("on what is learned from", PALETTE[0]),
    "eval_loss": ("on the validation split", PALETTE[1]),
    "reward": ("mean of a step", PALETTE[2]),
}


def learning_curves(logs: Mapping[str, Sequence[Row]]) -> Figure:
    """One panel a stage: its loss, or its reward where it has one, over the optimiser's steps.

    Args:
        logs: stage → lines of its log, {"step": 1, "loss": 1.4, …}.
    """
    with styled():
        figure, axes = canvas(2.1 * len(logs) + 0.4, 2.1, ncols=len(logs), squeeze=False)
        for panel, (stage, log) in zip(axes[0], logs.items(), strict=True):
            rewarded = any("reward" in line for line in log)
            names = ("reward",) if rewarded else ("loss", "eval_loss")
            for name in names:
                drawn = [(line["step"], line[name]) for line in log if name in line]
                if drawn:
                    label, colour = _DRAWN[name]
                    panel.plot(*zip(*drawn, strict=True), color=colour, marker=".", lw=1.2, label=label)
            panel.set_title(f"{stage}: {'reward' if rewarded else 'loss'}")
            panel.set_xlabel("step")
            panel.grid(True)
        legend_above(figure, {name: entry for panel in axes[0] for name, entry in entries_of(panel).items()})
    return figure


def rewards_by_seed(logs: Mapping[str, Sequence[Row]]) -> Figure:
    """The mean reward of each step, a line a seed, with the straight line through all of them."""
    with styled():
        figure, axes = canvas(4.6, 2.6)
        every: list[tuple[float, float]] = []
        for colour, (seed, log) in zip(PALETTE, logs.items(), strict=False):
            drawn = [(float(line["step"]), float(line["reward"])) for line in log if "reward" in line]
            every += drawn
            axes.plot(*zip(*drawn, strict=True), color=colour, marker=".", lw=1.2, label=seed)
        centre_x, centre_y = (sum(column) / len(every) for column in zip(*every, strict=True))
        spread = sum((x - centre_x) ** 2 for x, _ in every)
        slope = sum((x - centre_x) * (y - centre_y) for x, y in every) / spread
        ends = [min(x for x, _ in every), max(x for x, _ in every)]
        axes.plot(ends, [centre_y + slope * (x - centre_x) for x in ends], color=RULE, lw=2.5, zorder=0)
        axes.set_xlabel("step")
        axes.set_ylabel("mean reward")
        axes.grid(True)
        legend_above(figure, entries_of(axes))
    return figure
