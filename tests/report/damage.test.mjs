// Results and pages that are not as they should be.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, folder, open, polykern, polykernFails } from "./browser.mjs";

let whole;
before(() => {
  polykern("run", "-k", "4", "-s", "20", "-r", "1", "-a", "pof-mkl", "-M", "51", "--out", "good");
  whole = readFileSync(join(folder, "good/result.json"), "utf8");
});
after(close);

const CASES = {
  "cut in half": [(text) => text.slice(0, text.length / 2), /bad\/result\.json: this is not JSON/],
  "of another program": [() => '{"name": "something"}', /'polykern' is missing/],
  "a list": [() => "[1, 2]", /not a polykern result file/],
  "without runs": [(text) => edit(text, (r) => { r.runs = []; }), /'runs' is empty/],
  "old, without client_weights": [(text) => edit(text, (r) => { delete r.runs[0].client_weights; }), /'runs\[0\]\.client_weights' is missing/],
  "with a text for a number": [(text) => edit(text, (r) => { r.runs[0].mse = "0.1"; }), /'runs\[0\]\.mse' must be a number/],
  "with a short curve": [(text) => edit(text, (r) => { r.runs[0].curves.mse.pop(); }), /'runs\[0\]\.curves\.mse' must be a list of 20/],
  "with a hole in the weights": [(text) => edit(text, (r) => { r.runs[0].client_weights.last[2].pop(); }), /'runs\[0\]\.client_weights\.last\[2\]' must be a list of 51/],
  "without data": [(text) => edit(text, (r) => { delete r.data.sites; }), /'data\.sites' is missing/],
};

function edit(text, change) {
  const result = JSON.parse(text);
  change(result);
  return JSON.stringify(result);
}

for (const [name, [damage, message]] of Object.entries(CASES)) {
  test(`a result that is ${name} is refused with the field's name, and no page is written`, () => {
    mkdirSync(join(folder, "bad"), { recursive: true });
    writeFileSync(join(folder, "bad/result.json"), damage(whole));
    const { status, stderr } = polykernFails("report", "good", "bad", "--out", "bad.html");
    assert.equal(status, 1);
    assert.match(stderr, message);
    assert.equal(stderr.trim().split("\n").length, 1);
    assert.throws(() => readFileSync(join(folder, "bad.html")));
  });
}

test("a folder without a result is named", () => {
  const { status, stderr } = polykernFails("report", "nowhere");
  assert.equal(status, 1);
  assert.match(stderr, /nowhere.*No such file/);
});

test("a page that was changed says which field is wrong instead of staying empty", async () => {
  const html = readFileSync(join(folder, "good/report.html"), "utf8");
  for (const [from, to, words] of [['"mse":', '"not_mse":', /results\[0\]\.runs\[0\]\.mse' is missing/], ['[{"name"', '[{"name', /cannot be shown/],
    ['"kernels_per_upload":51', '"kernels_per_upload":[51]', /kernels_per_upload' must be/]]) {
    assert.ok(html.includes(from));
    writeFileSync(join(folder, "changed.html"), html.replace(from, to));
    const page = await open("changed.html");
    assert.match(await page.getByRole("alert").innerText(), words);
    await page.context().close();
  }
});
