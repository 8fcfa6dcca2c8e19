"""The dashboard and the alert rules are about metrics that a server has."""

import json
import pathlib
import re
import subprocess
import urllib.request

from federation import POLYKERN

FILES = pathlib.Path(__file__).resolve().parents[2] / "packaging/monitoring"
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/operate/monitoring.md"


def balanced(expression):
    return all(expression.count(a) == expression.count(b) for a, b in ("()", "[]", "{}"))


def expressions():
    board = json.loads((FILES / "grafana-dashboard.json").read_text())
    rules = re.findall(r"^        expr: (.+)$", (FILES / "alerts.yml").read_text(), re.M)
    return [t["expr"] for panel in board["panels"] for t in panel["targets"]], rules


def test_every_metric_of_the_dashboard_and_the_alerts_is_documented(federation):
    text = DOCS.read_text()
    documented = set(re.findall(r"polykern_[a-z_]+", text))
    for start, ends in re.findall(r"`(polykern_\w+?)_[a-z]+_total`((?:, `\.\._[a-z_]+`)+)", text):
        documented |= {start + name for name in re.findall(r"\.\.(_[a-z_]+)", ends)}
    for expression in sum(expressions(), []):
        assert balanced(expression), expression
        for metric in re.findall(r"polykern_[a-z_]+", expression):
            assert re.sub(r"_bucket$", "", metric) in documented, metric


def test_a_server_has_what_they_ask_for(federation):
    f = federation("pof-mkl", clients=1, steps=3)
    metrics = re.search(r"metrics on (\S+)", f.serve("--metrics", 0))[1]
    f.join(0)
    f.wait()
    served = set(re.findall(r"^(polykern_\w+)", urllib.request.urlopen(f"http://{metrics}/metrics").read().decode(), re.M))
    elsewhere = re.compile("epsilon|noisy|helper|reported|rejected")  # of other federations
    board, alerts = expressions()
    for expression in board + alerts:
        for metric in re.findall(r"polykern_[a-z_]+", expression):
            assert metric in served or elsewhere.search(metric), metric
    shown = subprocess.run([POLYKERN, "status", metrics], capture_output=True, text=True).stdout
    assert "its certificate expires" in shown and "clients gone" in shown
