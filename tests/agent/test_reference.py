"""Reference policies on orbits: what does not ask answers one reading throughout."""

from __future__ import annotations

from random import Random

import pytest

from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.reference import POLICIES


@pytest.mark.parametrize("name", ["default-reader", "always-asks", "template-asker"])
def test_the_headline_is_answered_whichever_sibling_is_played(make_instance, name):
    """The headline sibling's default is another reading; a reader of headlines answers the headline there, too."""
    siblings = [
        make_instance(instance_id="a", answer="$7B", default_answer="$5B", orbit="o", headline_intended=True),
        make_instance(instance_id="b", answer="$5B", default_answer="$7B", orbit="o"),
    ]
    dialogue = Dialogue(messages=(), actions=("answer",), asked=(), owed=0, schema={})
    assert [POLICIES[name](key, dialogue, Random(0))["response"] for key in siblings] == ["$7B", "$7B"]
