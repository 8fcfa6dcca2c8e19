"""The bits of results are those that were recorded once (tests/upgrade/make_inputs.py), on any CPU with fused multiply-add."""

import json
import os

import pytest
from upgrade import HALF, INPUTS, NAMES, SERVE, STEPS, words

RECORDED = json.loads((INPUTS / "fingerprints.json").read_text())["runs"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name == "air" else ()) for name in RECORDED])
def test_a_run_has_the_recorded_fingerprints(polykern, name):
    arguments = list(RECORDED[name]["arguments"])
    if "--data" in arguments:
        if "POLYKERN_DATA" not in os.environ:
            pytest.skip("POLYKERN_DATA is not set")
        arguments += ["--data-dir", os.environ["POLYKERN_DATA"]]
    done = polykern("run", *arguments, "--threads", 1, "--format", "json", timeout=3600)  # under qemu, beside others
    assert done.code == 0, done.err
    expected = RECORDED[name]["fingerprints"]
    made = [[run["algorithm"], run["kernels_per_upload"], run["fingerprint"]] for run in json.loads(done.out)["runs"]]
    known = {algorithm for algorithm, *_ in expected}  # others came later
    assert [run for run in made if run[0] in known] == expected


@pytest.mark.parametrize("name", SERVE)
def test_a_federation_from_its_first_step_has_the_recorded_bits(left_behind, name):
    f, expected = left_behind(name)
    for left in [f.folder / "store.db", *f.folder.glob("*.state")]:
        left.unlink()
    # Without --horizon, rates are those of the steps that the recorded one was first told.
    horizon = {} if "--horizon" in SERVE[name] else {"--horizon": HALF}
    assert f.serve(*words(SERVE[name] | horizon), "--clients", ",".join(NAMES), "--steps", str(STEPS))
    for k in range(len(NAMES)):
        f.join(k)
    f.wait()
    for k in range(len(NAMES)):
        assert f.predictions(k) == [[n + 2, n, p] for n, p in enumerate(expected["predictions"][k])]
    assert f.store("export")["state"] == expected["state"]
