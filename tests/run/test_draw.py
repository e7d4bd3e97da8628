"""Drawing the instances of a run."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import read_instances
from fiqkit.errors import UserError
from fiqkit.records import Instance
from fiqkit.run.draw import select
from fiqkit.run.evaluation import Settings, named_ids


@pytest.fixture
def uneven(make_instance: Callable[..., Instance]) -> list[Instance]:
    """30 English and 6 Chinese instances."""
    return [make_instance(instance_id=f"t{i}", language="en" if i < 30 else "zh") for i in range(36)]


def test_without_options_the_file_is_taken_as_it_is(uneven: list[Instance]) -> None:
    assert select(uneven) == uneven
    assert select(uneven, limit=3) == uneven[:3]


def test_strata_get_equal_shares_as_far_as_they_reach(uneven: list[Instance]) -> None:
    def languages(size: int) -> Counter[str]:
        return Counter(i.language for i in select(uneven, sample=size, stratify=("language",), seed=1))

    assert languages(8) == {"en": 4, "zh": 4}
    assert languages(20) == {"en": 14, "zh": 6}


def test_the_seed_decides_the_sample(uneven: list[Instance]) -> None:
    first = select(uneven, sample=10, seed=1)
    assert first == select(uneven, sample=10, seed=1)
    assert first != select(uneven, sample=10, seed=2)
    assert len({i.instance_id for i in first}) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "--limit is 0"),
        ({"sample": -1}, "--sample is -1"),
        ({"orbits": 0}, "--orbits is 0"),
        ({"orbits": 1, "sample": 1}, "both draw"),
        ({"sample": 3, "stratify": ("colour",)}, "no 'colour'"),
        ({"stratify": ("language",)}, "add --sample"),
    ],
)
def test_wrong_options_are_named(uneven: list[Instance], options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        select(uneven, **options)


def test_only_the_instances_that_are_named(make_instance: Callable[..., Instance]) -> None:
    instances = [make_instance(instance_id=f"i{n}") for n in range(4)]
    assert [i.instance_id for i in select(instances, only=("i2", "i0"))] == ["i0", "i2"]
    with pytest.raises(UserError, match="--instance 'x': no instance has this id; the first is 'i0'"):
        select(instances, only=("i0", "x"))


def test_orbits_are_drawn_whole_and_categories_take_turns() -> None:
    ids = {i.instance_id: i for i in read_instances(INSTANCES)}
    siblings = Counter(i.orbit for i in ids.values())
    drawn = select(list(ids.values()), language="en", orbits=10, seed=3)
    assert all(i.language == "en" for i in drawn)
    assert len({i.orbit for i in drawn}) == 10
    assert all(siblings[orbit] == n for orbit, n in Counter(i.orbit for i in drawn).items())
    assert set(Counter({i.orbit: i.primary for i in drawn}.values()).values()) == {2}
    assert select(list(ids.values()), language="en", orbits=10, seed=3) == drawn


def test_a_split_is_of_the_bundled_set_alone(tmp_path: Path) -> None:
    parts = [set(named_ids(Settings(split=name))) for name in ("train", "validation", "test")]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(read_instances(INSTANCES))
    for other in ({"instances": tmp_path}, {"only": ("a",)}):
        with pytest.raises(UserError, match="--split names a split of the bundled set"):
            named_ids(Settings(split="test", **other))
