"""One timed run of SWE-smith's procedural generator. Runs in a throw-away environment, not in ours.

    python swesmith_worker.py FOLDER PACKAGE OUTPUT.json

Does what `swesmith.bug_gen.procedural.generate` does for every entity of the package, without cloning from
GitHub before and without writing two files per candidate after, which only makes it faster.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any


def run(folder: Path, package: str) -> dict[str, Any]:
    """Extract the entities, apply every Python modifier to all it can change, and make the patches."""
    python = importlib.import_module("swesmith.bug_gen.procedural.python")
    adapter = importlib.import_module("swesmith.bug_gen.adapters.python")
    utils = importlib.import_module("swesmith.bug_gen.utils")
    fresh = [type(modifier)(likelihood=modifier.likelihood) for modifier in python.MODIFIERS_PYTHON]
    wall, cpu = time.perf_counter(), time.process_time()
    entities: list[Any] = []
    for path in sorted((folder / package).rglob("*.py")):
        adapter.get_entities_from_file_py(entities, str(path))
    patches = []
    failed = 0
    for modifier in fresh:
        for entity in entities:
            if not modifier.can_change(entity):
                continue
            try:
                bug = modifier.modify(entity)
                patch = bug and utils.generate_patch_fast(entity, bug, str(folder))
            except Exception as error:  # noqa: BLE001 - a crash of theirs is counted, not ours to fix
                print(f"{modifier.name}: {type(error).__name__}: {error}", file=sys.stderr)
                failed += 1
                continue
            if patch:
                patches.append((modifier.name, patch))
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "entities": len(entities),
        "failed": failed,
        "patches": patches,
    }


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps(run(Path(sys.argv[1]), sys.argv[2])))
