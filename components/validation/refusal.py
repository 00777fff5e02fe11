"""How a step of the proof says no."""

from components.records.task import Candidate, Rejection, RejectReason

_LONGEST = 500


class Refused(Exception):
    """The candidate becomes no task, and why."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail

    def of(self, candidate: Candidate) -> Rejection:
        """The row that keeps it."""
        return Rejection(candidate_id=candidate.id, reason=self.reason, detail=self.detail[:_LONGEST])
