"""The expectations, and the run of them through Great Expectations 1.24.

Great Expectations validates and writes the Data Docs; the verdict is ours (`verdict.py`), because its own
success flag is false as soon as a warning fails and says nothing about an expectation that errors.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from components.gates.config import GatesConfig, Severity
from components.gates.docs import EPOCH, normalise

if TYPE_CHECKING:
    import pandas as pd

_ONE_AT_A_TIME = threading.RLock()  # Great Expectations keeps its context in a process-wide variable.


@dataclass(frozen=True)
class Gate:
    """One expectation on the feature table."""

    name: str
    severity: Severity
    level: Literal["row", "dataset"]
    """`row`: offending rows can be named and set aside. `dataset`: only the whole can be refused."""
    expectation: str
    """Class in `great_expectations.expectations`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Finding:
    """What came of one gate, before severities and waivers."""

    gate: Gate
    suite: str
    outcome: Literal["pass", "fail", "error"]
    checked: int
    offending: tuple[str, ...] = ()
    detail: str = ""


def _true(name: str, column: str, why: str, severity: Severity = "block") -> Gate:
    return _in_set(name, column, [True], why, severity)


def _in_set(name: str, column: str, values: list[Any], why: str, severity: Severity = "block") -> Gate:
    arguments = {"column": column, "value_set": values}
    return Gate(name, severity, "row", "ExpectColumnValuesToBeInSet", arguments, why)


def _between(name: str, column: str, low: float, high: float, why: str, severity: Severity = "block") -> Gate:
    arguments = {"column": column, "min_value": low, "max_value": high}
    return Gate(name, severity, "row", "ExpectColumnValuesToBeBetween", arguments, why)


def trajectory_gates(config: GatesConfig) -> tuple[Gate, ...]:
    """What is asked of all trajectories."""
    optional = []
    if config.require_resolved:
        optional.append(_true("resolved", "resolved", "The patch makes the failing tests pass."))
    if config.require_submit:
        optional.append(_true("submitted", "ends_with_submit", "The last turn submits."))
    if not config.allow_demonstrators:
        optional.append(_in_set("demonstrator", "demonstrator", [False], "The gold patch was not known."))
    return (
        Gate(
            "unique_ids",
            "block",
            "dataset",
            "ExpectColumnValuesToBeUnique",
            {"column": "id"},
            "Ids are keys.",
        ),
        Gate(
            "resolved_rate",
            "warn",
            "dataset",
            "ExpectColumnMeanToBeBetween",
            {"column": "resolved_share", "min_value": config.min_resolved_rate, "max_value": 1},
            "A teacher that solves nothing points at a broken scaffold or machine.",
        ),
        _true("task_known", "task_known", "The task exists and belongs to the same repository."),
        _true("repository_known", "repository_known", "The repository is recorded."),
        _in_set("never_train", "never_train", [False], "The repository may be trained on."),
        _in_set("train_split", "split", ["train"], "Held-out tasks are never learnt from."),
        _true("licence", "licence_permissive", "The licence is permissive."),
        _true("licence_evidence", "licence_evidence", "The licence was read from a file that is recorded."),
        _true("graded", "graded", "Graded against its own task."),
        _in_set("infrastructure", "infrastructure", [False], "The machine did not fail."),
        _between("hacks", "hacks", 0, 0, "No trace of cheating."),
        *optional,
        _between("steps", "n_steps", 1, config.max_steps, "Acts, and within the turn budget."),
        _between("tool_calls", "n_tool_calls", 1, 100_000, "Uses tools."),
        _between("tokens", "n_tokens", 1, config.max_tokens, "Fits the context."),
        _between("failed_calls", "n_failed_calls", 0, config.max_failed_calls, "Does not flounder."),
        _true("patch_parses", "patch_parses", "The patch is a unified diff."),
        _between("patch_size", "patch_bytes", 1, config.max_patch_bytes, "A patch, and not a rewrite."),
        _between("test_files", "test_files_touched", 0, 0, "Leaves the tests alone."),
        _in_set("statement_leak", "statement_leak", [False], "The statement does not hold the fix."),
        _in_set("heldout_overlap", "heldout_overlap", [""], "Does not resemble a held-out task."),
    )


def duplicate_gates() -> tuple[Gate, ...]:
    """What is asked of the rows that passed, once duplicates are known."""
    return (_true("duplicate", "representative", "One row of each cluster of duplicates."),)


def accepted_gates(config: GatesConfig) -> tuple[Gate, ...]:
    """What is asked of the accepted rows as a whole."""
    rows = {"min_value": config.min_rows}
    return (
        Gate("min_rows", "block", "dataset", "ExpectTableRowCountToBeBetween", rows, "Enough to learn from."),
        Gate(
            "unique_text",
            "block",
            "dataset",
            "ExpectColumnValuesToBeUnique",
            {"column": "text_sha256"},
            "No exact duplicate got through.",
        ),
        Gate(
            "repository_share",
            "warn",
            "dataset",
            "ExpectColumnMaxToBeBetween",
            {"column": "repository_share", "min_value": 0, "max_value": config.max_repository_share},
            "No repository dominates.",
        ),
    )


class Validator:
    """Runs suites and writes one Data Docs site for all of them. Use as a context manager."""

    def __init__(self, site: Path) -> None:
        self._site = site

    def __enter__(self) -> Self:
        _ONE_AT_A_TIME.acquire()
        try:
            os.environ["GX_ANALYTICS_ENABLED"] = "false"  # before the import: no telemetry
            import great_expectations as gx

            self._context: Any = gx.get_context(mode="ephemeral")
            self._context.variables.progress_bars = {"globally": False}
            store = {
                "class_name": "TupleFilesystemStoreBackend",
                "base_directory": str(self._site.absolute()),
            }
            index = {"class_name": "DefaultSiteIndexBuilder"}
            self._context.add_data_docs_site(
                "evidence",
                {"class_name": "SiteBuilder", "store_backend": store, "site_index_builder": index},
            )
        except BaseException:
            _ONE_AT_A_TIME.release()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        _ONE_AT_A_TIME.release()
        normalise(self._site)

    def run(self, suite: str, frame: "pd.DataFrame", gates: Sequence[Gate]) -> list[Finding]:
        """One finding per gate, in order. `frame` has the row ids in its column `id`."""
        import great_expectations as gx
        import great_expectations.expectations as gxe
        from great_expectations.checkpoint import UpdateDataDocsAction
        from great_expectations.core.run_identifier import RunIdentifier

        # A filtered frame keeps its old index, on which row-level results are looked up wrongly
        # (great_expectations PR 12097).
        frame = frame.reset_index(drop=True)
        source = self._context.data_sources.add_pandas(suite)
        batch = source.add_dataframe_asset(suite).add_batch_definition_whole_dataframe(suite)
        expectations = self._context.suites.add(gx.ExpectationSuite(suite))
        for gate in gates:
            severity = "critical" if gate.severity == "block" else "warning"
            meta = {"gate": gate.name, "level": gate.level}
            kind = getattr(gxe, gate.expectation)
            expectations.add_expectation(
                kind(**gate.arguments, severity=severity, meta=meta, description=gate.why or None)
            )
        definition = self._context.validation_definitions.add(
            gx.ValidationDefinition(name=suite, data=batch, suite=expectations)
        )
        checkpoint = self._context.checkpoints.add(
            gx.Checkpoint(
                name=suite,
                validation_definitions=[definition],
                actions=[UpdateDataDocsAction(name="docs", site_names=["evidence"])],
                result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["id"]},
            )
        )
        run = checkpoint.run(
            batch_parameters={"dataframe": frame}, run_id=RunIdentifier(run_name="gates", run_time=EPOCH)
        )
        (validation,) = run.run_results.values()
        by_gate = {result.expectation_config.meta["gate"]: result for result in validation.results}
        return [_finding(gate, suite, len(frame), by_gate.get(gate.name)) for gate in gates]


def _finding(gate: Gate, suite: str, rows: int, result: Any) -> Finding:
    """Read one result. Whatever is not plainly a pass or a failure with its rows is an error."""
    if result is None:
        return Finding(gate, suite, "error", 0, detail="no result was reported")
    message = _exception(result.exception_info)
    if message is not None:
        return Finding(gate, suite, "error", 0, detail=message)
    found: Mapping[str, Any] = result.result or {}
    checked = int(found.get("element_count", rows))
    if found.get("missing_count"):
        detail = f"{found['missing_count']} null values were skipped"
        return Finding(gate, suite, "error", checked, detail=detail)
    if result.success is True:
        return Finding(gate, suite, "pass", checked)
    if result.success is not False:
        return Finding(gate, suite, "error", checked, detail="neither passed nor failed")
    offending = tuple(sorted({str(entry["id"]) for entry in found.get("unexpected_index_list") or ()}))
    if gate.level == "row" and not offending:
        return Finding(gate, suite, "error", checked, detail="failed without naming a row")
    observed = f"; observed {found['observed_value']}" if "observed_value" in found else ""
    return Finding(gate, suite, "fail", checked, offending, f"{gate.why}{observed}")


def _exception(info: Any) -> str | None:
    """Message of the exception that an expectation raised, or None.

    The shape differs: one flat dictionary, or one per metric.
    """
    if not info:
        return None
    entries = [info] if "raised_exception" in info else list(info.values())
    for entry in entries:
        if entry.get("raised_exception"):
            return str(entry.get("exception_message") or "the expectation raised").strip()
    return None
