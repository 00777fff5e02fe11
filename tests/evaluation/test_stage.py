"""How an evaluation is cut into shards."""

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from components.evaluation.stage import shard_size


def test_no_job_is_left_to_run_by_itself() -> None:
    assert shard_size(97, 96) == 49 and shard_size(96, 96) == 96 and shard_size(1, 96) == 1


@given(st.integers(1, 1000), st.integers(1, 200))
def test_as_few_shards_as_can_be_and_no_larger_than_need_be(jobs: int, most: int) -> None:
    size = shard_size(jobs, most)
    assert 1 <= size <= most and ceil(jobs / size) == ceil(jobs / most)
    assert size == 1 or ceil(jobs / (size - 1)) > ceil(jobs / most)
