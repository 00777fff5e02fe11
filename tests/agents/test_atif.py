import json

import pytest
from pydantic import ValidationError

from components.agents.atif import AtifTrajectory, to_atif
from tests.agents.support import SEARCH, SUBMIT, VIEW, Bench, edit
from tests.grading.support import one_bug


def test_a_trajectory_survives_the_way_through_json(bench: Bench) -> None:
    wrong, right = edit("total -= value", "total *= value"), edit("total -= value", "total += value")
    [row] = bench.run([SEARCH, VIEW, wrong, "I am lost.", right, SUBMIT], [one_bug()])
    document = to_atif(row)
    text = document.to_json()
    assert AtifTrajectory.model_validate_json(text) == document
    plain = json.loads(text)
    assert plain["schema_version"] == "ATIF-v1.8" and plain["trajectory_id"] == row.id
    assert [step["step_id"] for step in plain["steps"]] == list(range(1, 9))
    assert [step["message"] for step in plain["steps"]] == [step.message for step in row.steps]
    assert plain["steps"][4]["extra"] == {"rewound": True}
    assert "tool_calls" not in plain["steps"][5] and "malformed" in str(plain["steps"][5]["extra"])
    assert plain["steps"][6]["tool_calls"][0]["arguments"]["new"] == "total += value"
    assert plain["extra"]["resolved"] is True and plain["agent"]["model_name"] == "scripted"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"steps": []}, "at least 1"),
        ({"steps": [{"step_id": 2, "source": "user", "message": ""}]}, "count from 1"),
        ({"steps": [{"step_id": 1, "source": "tool", "message": ""}]}, "source"),
        ({"steps": [{"step_id": 1, "source": "user", "message": "", "metrics": {}}]}, "only an agent"),
        (
            {
                "steps": [
                    {
                        "step_id": 1,
                        "source": "agent",
                        "message": "",
                        "observation": {"results": [{"source_call_id": "c9", "content": ""}]},
                    }
                ]
            },
            "unknown call c9",
        ),
        (
            {
                "steps": [
                    {
                        "step_id": 1,
                        "source": "agent",
                        "message": "",
                        "metrics": {"completion_token_ids": [1, 2], "logprobs": [-1.0]},
                    }
                ]
            },
            "differ in length",
        ),
        ({"invented": 1}, "invented"),
    ],
)
def test_what_breaks_the_format_is_refused(change: dict[str, object], reason: str) -> None:
    sound = {
        "session_id": "s",
        "trajectory_id": "t",
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": "hello"}],
    }
    AtifTrajectory.model_validate(sound)
    with pytest.raises(ValidationError, match=reason):
        AtifTrajectory.model_validate({**sound, **change})
