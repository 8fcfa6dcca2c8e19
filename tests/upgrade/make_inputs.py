#!/usr/bin/env python3
"""make_inputs.py PROGRAM REVISION DATA: what PROGRAM, built from REVISION, leaves behind, and the bits it gives.

Writes the folders beside this file and fingerprints.json; DATA is the folder with the recipes' files. The tests
(e2e/upgrade_test.py, e2e/fingerprints_test.py) compare every later program with them, so they are made once, by the
program of which the promise begins, and not again when a test fails.
"""

import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from upgrade import HALF, INPUTS, NAMES, REPRODUCE, RUNS, SERVE, STEPS, Federation, figures, words  # noqa: E402

SMALL = ["-k", "8", "-s", "60", "-r", "1"]
# With every option of the algorithms away from its default, where it has an effect.
OPTIONS = {
    "dictionary": ["-a", "pof-mkl,pof-newton", "--dictionary", "mixed"],
    "kernels": ["-N", "9"],
    "features": ["-a", "pof-mkl,pof-newton,em-kofl", "-M", "2", "-D", "7"],
    "budget": ["--budget", "400"],
    "orthogonal": ["-a", "pof-mkl,pof-newton", "--orthogonal"],
    "shared-draws": ["-a", "pof-mkl", "--shared-draws"],
    "exploration": ["-a", "pof-mkl,pof-newton,pof-adagrad", "-M", "25", "--exploration", "0.5"],
    "learning-rate": ["-M", "25", "--learning-rate", "0.1"],
    "weight-rate": ["-M", "25", "--weight-rate", "0.3"],
    "schedule": ["-a", "pof-mkl", "-M", "25", "--schedule", "anytime"],
    "regularization": ["-M", "25", "--regularization", "0.01"],
    "huber": ["-a", "pof-mkl,ofskl", "--loss", "huber", "--huber-delta", "0.05"],
    "logistic": ["-a", "pof-mkl,ofskl", "--loss", "logistic"],
    "single-bandwidth": ["-a", "ofskl", "--single-bandwidth", "2"],
    "perfedavg": ["-a", "perfedavg", "--hessian-free", "--inner-rate", "0.02", "--meta-rate", "0.03"],
    "inner-rate": ["-a", "perfedavg", "--inner-rate", "0.02"],
    "meta-rate": ["-a", "perfedavg", "--meta-rate", "0.03"],
    "projection-radius": ["-a", "fomd-oms", "--projection-radius", "0.1"],
    "experts": ["-a", "pof-newton", "--experts", "federated"],
    "weighting": ["-a", "pof-newton,local-rls", "--weighting", "aggregating"],
    "hedge": ["-a", "pof-newton,local-rls", "--weighting", "hedge"],
    "ridge": ["-a", "pof-newton,local-rls", "--ridge", "0.01"],
    "forgetting": ["-a", "pof-newton,local-rls", "--forgetting", "0.95"],
    "refresh": ["-a", "pof-newton", "--refresh", "0.5"],
    "local-kernels": ["-a", "pof-newton", "--local-kernels", "3"],
    "local-memory": ["-a", "pof-newton,local-rls", "--local-memory", "256"],
    "weights": ["-a", "pof-mkl,pof-newton", "-r", "2", "--weights", "carried"],
    "participation": ["--participation", "0.5"],
    "seed": ["--seed", "7"],
}


def fingerprints(program, revision, data):
    runs = {"synthetic": ["-r", "2"]}
    for name, arguments in OPTIONS.items():  # of an option given twice the last would count, or none
        small = SMALL[:4] if "-r" in arguments else SMALL
        runs[name] = [*small, *arguments]
    runs["naval"] = ["-r", "2", "--data", "naval"]
    runs["air"] = ["-r", "2", "--data", "air", "-a", "pof-mkl,pof-newton,pof-adagrad"]  # all would take 45 s
    made = {"made by": f"{revision}: polykern run ARGUMENTS --format json", "runs": {}}
    for name, arguments in runs.items():
        folder = ["--data-dir", data] if "--data" in arguments else []
        done = subprocess.run([program, "run", *arguments, *folder, "--format", "json"], check=True, capture_output=True)
        rows = [[run["algorithm"], run["kernels_per_upload"], run["fingerprint"]] for run in json.loads(done.stdout)["runs"]]
        made["runs"][name] = {"arguments": arguments, "fingerprints": rows}
    lines = [f'  {json.dumps(name)}: {json.dumps(run)}' for name, run in made["runs"].items()]
    (INPUTS / "fingerprints.json").write_text(
        f'{{\n "made by": {json.dumps(made["made by"])},\n "runs": {{\n' + ",\n".join(lines) + "\n }\n}\n")


def samples(seed, rows=STEPS):
    chance = random.Random(seed)
    lines = ["wind,heat,power"]
    for n in range(rows):
        wind, heat = chance.uniform(0, 20), chance.uniform(-40, 60)
        power = 1500 + 900 * math.sin(wind / 3 + seed) + 5 * heat + chance.gauss(0, 50)
        lines.append(f"{wind:.3f},{heat:.2f},{power:.1f}")
    return [line + "\n" for line in lines]


def federate(folder, program, options, lines, steps):
    """Runs until every agent has learnt from all its lines, or waits for others who have none."""
    f = Federation(folder, program)
    try:
        assert f.serve(*options, "--clients", ",".join(NAMES), "--steps", str(steps)), (folder / "server.log").read_text()
        least = min(map(len, lines))
        for k in range(len(NAMES)):
            (folder / f"{k}.csv").write_text("".join(lines[k]))
            f.join(k)
        f.wait(*[k for k in range(len(NAMES)) if len(lines[k]) == least])
        ahead = [k for k in range(len(NAMES)) if len(lines[k]) > least]
        for k in ahead:
            # It has predicted for a line whose step does not end, and then keeps its answer.
            while len(f.predictions(k)) < least:
                time.sleep(0.01)
        time.sleep(0.5 * bool(ahead))
        for k in ahead:
            f.agents[k].kill()
        f.stop()
        return [[p[2] for p in f.predictions(k)] for k in range(len(NAMES))], f.store("export")
    finally:
        f.close()


def federation(program, name, scratch):
    lines = [samples(k) for k in range(len(NAMES))]
    # The first clients of pof-newton were a step ahead: their states hold answers that the store lacks.
    ahead = [1, 1, 0] if name == "pof-newton" else [0, 0, 0]
    halves = [text[: 1 + HALF + more] for text, more in zip(lines, ahead)]
    options = words(SERVE[name])
    straight = scratch / f"{name} at once"
    straight.mkdir()
    horizon = [] if "--horizon" in SERVE[name] else ["--horizon", str(HALF)]  # what --steps HALF implied
    predictions, whole = federate(straight, program, [*options, *horizon], lines, STEPS)
    stopped = scratch / name
    stopped.mkdir()
    first, _ = federate(stopped, program, options, halves, 0 if any(ahead) else HALF)
    kept = INPUTS / name
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for k in range(len(NAMES)):
        assert first[k] == predictions[k][: HALF + ahead[k]]
        shutil.copy(stopped / f"{k}.state", kept)
        (kept / f"{k}.csv").write_text("".join(lines[k]))
    shutil.copy(stopped / "store.db", kept)
    second, resumed = federate(stopped, program, options, lines, STEPS)
    assert second == predictions and resumed["state"] == whole["state"]
    expected = {"done": [len(one) for one in first], "state": whole["state"], "predictions": predictions}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in expected.items()]
    (kept / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def killed_run(program, name, scratch):
    folder = scratch / f"run {name}"
    folder.mkdir()
    (folder / "rows.csv").write_text("".join(samples(5, 1200)))
    subprocess.run([program, *RUNS[name], "out"], cwd=folder, check=True, capture_output=True)
    whole = folder / "whole"
    (folder / "out").rename(whole)
    result = json.loads((whole / "result.json").read_text())
    all_of_them = sum(run["repetitions"] for run in result["runs"])
    process = subprocess.Popen([program, *RUNS[name], "out"], cwd=folder, stderr=subprocess.DEVNULL)
    while len(list(folder.glob("out/partial/*.json"))) < all_of_them // 2:
        assert process.poll() is None, "it was too fast to be killed"
    process.kill()
    process.wait()
    partial = list(folder.glob("out/partial/*.json"))
    assert all_of_them // 2 <= len(partial) < all_of_them
    kept = INPUTS / name
    shutil.rmtree(kept, ignore_errors=True)
    (kept / "out/partial").mkdir(parents=True)
    for path in partial:
        shutil.copy(path, kept / "out/partial")
    if "rows.csv" in RUNS[name]:
        shutil.copy(folder / "rows.csv", kept)
    shutil.copy(whole / "result.json", kept / "expected.json")


def reproduction(program, data, scratch):
    folder = scratch / "paper"
    folder.mkdir()
    (folder / "data").symlink_to(pathlib.Path(data).resolve())
    subprocess.run([program, *REPRODUCE, "out"], cwd=folder, check=True, capture_output=True)
    kept = INPUTS / "paper"
    shutil.rmtree(kept, ignore_errors=True)
    (kept / "out/runs").mkdir(parents=True)
    for path in folder.glob("out/runs/*.json"):
        if path.stat().st_size < 50_000:  # those without weights of the clients
            shutil.copy(path, kept / "out/runs")
    result = json.loads((folder / "out/result.json").read_text())
    (kept / "expected.json").write_text("[\n" + ",\n".join(map(json.dumps, figures(result))) + "\n]\n")


def main():
    program, revision, data = sys.argv[1:]
    program = str(pathlib.Path(program).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        for name in SERVE:
            federation(program, name, pathlib.Path(scratch))
        for name in RUNS:
            killed_run(program, name, pathlib.Path(scratch))
        reproduction(program, data, pathlib.Path(scratch))
    fingerprints(program, revision, data)


main()
