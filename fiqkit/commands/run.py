"""fiqkit run: put agents through instances and record every episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fiqkit.commands.arguments import SEED, Command
from fiqkit.commands.options import (
    FILE,
    allow_host_option,
    fail_under,
    fail_under_option,
    isolate_option,
    json_option,
    names,
    print_json,
    program,
    store_option,
)
from fiqkit.commands.run_output import print_result
from fiqkit.errors import UserError


@click.command(cls=Command)
@click.option("--lineup", help="A bundled line-up (demo, local-24gb, local-32b) or a TOML file; options override it.")
@click.option("--preset", type=click.Choice(["paper"]), help="The paper's whole setting, as a line-up of that name.")
@click.option(
    "--agent",
    callback=names,
    help="Model cards, weights' paths, server URLs, reference policies or module:factory, by comma.",
)
@click.option("--simulator", help="Who plays the user: rules, noisy, free-form or a card.")
@click.option("--grader", help="Who grades the answers: rules, cascade:CARD or a card.")
@click.option("--judge", help="Who judges the questions: rules or a card.")
@click.option("--modes", callback=names, help="Modes by comma; answer,search,interact unless the line-up says else.")
@click.option("--thinking", callback=names, help="Thinking modes by comma (on,off), for cards that have them.")
@click.option("--retrieval", help="What a search returns: index (the default), own, own+spans or intended-span.")
@click.option("--confidence", help="How confidence is asked for: action (with the answer) or post-hoc (after it).")
@click.option("--prompt-language", help="Prompts in one language, en or zh, whatever the question's.")
@click.option("--prompts", type=FILE, help="Folder of your own prompts for the agent, such as en/task.md.")
@click.option("--passage-chars", type=int, help="Cut an own passage after so many characters (the paper: 4000).")
@click.option("--instances", type=FILE, help="JSONL of instances; the bundled set without it.")
@click.option("--passages", type=FILE, help="JSONL of the passages that the index must have been built from.")
@click.option("--index", type=FILE, help="Folder of an index made by `fiqkit index build`.")
@click.option("--instance", "only", multiple=True, metavar="ID", help="Only this instance; may be given several times.")
@click.option("--split", type=click.Choice(["train", "validation", "test"]), help="Only this split of the bundled set.")
@click.option("--language", type=click.Choice(["en", "zh"]), help="Only instances in this language.")
@click.option("--orbits", type=click.IntRange(1), help="N whole orbits, from each category in turn.")
@click.option("--limit", type=int, help="Only the first N instances.")
@click.option("--sample", type=int, help="N instances at random.")
@click.option("--samples", type=int, help="Play each episode N times, with draws of its own each time.")
@click.option("--stratify", callback=names, help="Draw the sample evenly over: category, language, company, h0.")
@click.option("--seed", type=SEED, help="Seed of everything random; 0 without it.")
@click.option("--turns", type=int, help="Most turns of an episode.")
@click.option("--questions", type=int, help="Most questions of an episode.")
@click.option("--k", type=int, help="Chunks in a search result.")
@click.option("--result-tokens", type=int, help="Most tokens of a search result, whole chunks.")
@click.option("--max-tokens", type=int, help="Most tokens of a reply.")
@click.option("--temperature", type=float, help="The agent's sampling temperature.")
@click.option("--context", type=int, help="Tokens of prompt and reply together that models are opened with.")
@click.option("--in-flight", type=int, help="Episodes in flight for each agent.")
@click.option("--engine-setting", "engine", multiple=True, metavar="NAME=VALUE", help="A setting for the engines.")
@click.option("--cards", type=FILE, help="TOML file of your own model cards.")
@click.option("--allow-self-grading", is_flag=True, help="Let a model under test grade or judge itself.")
@click.option("--cache", type=FILE, help="SQLite file of completions to take from and add to.")
@click.option("--once-an-orbit", is_flag=True, help="Play answer and search once for all readings of a question.")
@click.option("--max-minutes", type=click.FloatRange(0, min_open=True), help="Begin no episode after so many minutes.")
@click.option(
    "--max-dollars",
    type=click.FloatRange(0, min_open=True),
    help="Begin none once the run has cost so much.",
)
@fail_under_option
@click.option("--check-determinism", is_flag=True, help="Measure how often equal requests differ, for the manifest.")
@click.option("--resume", metavar="RUN|last", help="Go on with a run that was stopped, with its arguments.")
@allow_host_option
@isolate_option
@store_option
@json_option
def command(
    lineup: str | None,
    engine: tuple[str, ...],
    store: Path,
    as_json: bool,
    gates: tuple[Any, ...],
    **options: Any,
) -> None:
    """Put agents through instances in one or more modes and record every episode.

    \b
    fiqkit run --agent qwen3-4b --modes answer,search,interact --limit 50
    fiqkit run --resume last

    Without arguments a small embedded model runs over the bundled instances. A run that was stopped with Ctrl-C, by a
    limit, or killed, goes on with --resume last.
    """
    import asyncio
    from dataclasses import asdict

    from fiqkit.commands.progress import WorkProgress
    from fiqkit.run.evaluation import Settings, evaluate, remembered
    from fiqkit.run.players import choose_lineup

    if lineup and options["preset"]:
        raise click.UsageError("--preset is a line-up; give it or --lineup, not both")
    before, kept = remembered(store, options["resume"]) if options["resume"] else (None, {})
    kept |= _given(options, _SETTINGS) | ({"engine": dict(map(_setting, engine))} if engine else {})
    chosen = choose_lineup(lineup or options["preset"], _given(options, _LINEUP), kept.get("cards"), before)
    settings = Settings(lineup=chosen, store=store, **kept)
    with WorkProgress() as progress:
        result = asyncio.run(evaluate(settings, progress.watch))
    if as_json:
        print_json(asdict(result) | {"store": str(result.store)})
    else:
        print_result(result, chosen.notice)
    for name, reason in result.left_out.items():
        click.echo(f"{name} could not run: {reason}", err=True)
    go_on = f"{program()} run --resume {result.run} --store {result.store}"
    if result.stopped:
        click.echo(f"stopped by {result.stopped}; go on: {go_on}, and a higher limit or none", err=True)
    elif not result.complete:
        click.echo(f"interrupted; go on: {go_on}", err=True)
        raise KeyboardInterrupt
    if result.episodes and result.engine_errors == result.episodes:
        raise UserError(f"run {result.run}: no episode could be played: {result.fault}")
    fail_under(gates, result.rows)
    if result.bugs or result.left_out or result.stopped:
        raise SystemExit(1)


_LINEUP = (
    *("agent", "simulator", "grader", "judge", "modes", "thinking", "turns", "questions", "k", "result_tokens"),
    *("max_tokens", "temperature", "context", "in_flight", "retrieval", "confidence", "prompt_language"),
    "passage_chars",
)
_SETTINGS = (
    *("instances", "passages", "index", "prompts", "only", "split", "language", "orbits", "limit", "sample"),
    *("stratify", "seed", "samples", "cards"),
    *("allow_self_grading", "resume", "cache", "check_determinism", "preset", "once_an_orbit"),
    *("max_minutes", "max_dollars"),
)


def _given(options: dict[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    """The options among `wanted` that were given on the command line."""
    return {name: value for name in wanted if (value := options[name]) not in (None, ()) and value is not False}


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE; a value that is JSON (a number, true, a list) is read as such."""
    import json

    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--engine-setting")
    try:
        return name, json.loads(value, parse_constant=_no_number)
    except json.JSONDecodeError:
        return name, value


def _no_number(name: str) -> float:
    raise click.BadParameter(f"{name} is no number", param_hint="--engine-setting")
