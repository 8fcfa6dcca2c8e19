// The page of polykern reproduce. The runs are real ones of the built-in fleet; the published figures beside them are made up,
// near and far from what was measured.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, colouredPixels, flaws, folder, open, parseCsv, polykern, saved } from "./browser.mjs";

const DEVIATIONS = [0.01, -0.1, 0.5];
const CLASSES = ["good", "fair", "poor"];
let page;
let entries;

function compare(table, run, i) {
  const measured = table === "table4" ? run.regret_mean : 1e3 * run.mse;
  const entry = {
    table, row: run.algorithm, kernels_per_upload: run.kernels_per_upload, data: "synthetic", weights: "reset",
    published: measured / (1 + DEVIATIONS[i]), published_std: table === "table1" ? null : 0.5, measured, measured_std: 0.25,
    deviation: DEVIATIONS[i], reproduced: i === 0, note: i === 0 ? "" : "a reason with <b>",
  };
  if (table === "table1") Object.assign(entry, { published_seconds: 1.5, seconds: 0.01 });
  if (table === "table4") Object.assign(entry, { published_steps_x_mse: 10, steps_x_mse: 11 });
  return entry;
}

before(async () => {
  const rates = ["0.2", "0.6", "1"];
  const runs = rates.flatMap((rate) => {
    polykern("run", "-k", "8", "-s", "40", "-r", "2", "-a", "pof-mkl", "-M", "1,25", "--learning-rate", "0.01", "--exploration", rate, "--no-report", "--out", `xi${rate}`);
    return JSON.parse(readFileSync(join(folder, `xi${rate}/result.json`), "utf8")).runs;
  });
  polykern("run", "-k", "8", "-s", "40", "-r", "2", "-a", "ofskl", "--no-report", "--out", "rest");
  const rest = JSON.parse(readFileSync(join(folder, "rest/result.json"), "utf8"));
  runs.push(...rest.runs);
  for (const run of runs) Object.assign(run, { data: "synthetic", command: `polykern run --algorithm ${run.algorithm}` });
  const shown = runs.slice(-3);
  entries = ["table1", "table3", "table4"].flatMap((table) => shown.map((run, i) => compare(table, run, i)));
  const other = { ...rest.data, name: "elsewhere" };
  const elsewhere = { ...rest.runs[0], data: "elsewhere" };
  mkdirSync(join(folder, "paper"));
  writeFileSync(join(folder, "paper/result.json"), JSON.stringify({
    polykern: rest.polykern, command: "polykern reproduce all", data: [rest.data, other], runs: [...runs, elsewhere], reproduction: entries,
  }));
  polykern("report", "paper");
  page = await open("paper/report.html");
});
after(close);

for (const [table, title] of [["table1", "Table 1: "], ["table3", "Table 3: "], ["table4", "Table 4: "]]) {
  test(`${table} has published and measured values, deviations coloured, and reasons as text`, async () => {
    const card = page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
    const own = entries.filter((entry) => entry.table === table);
    const rows = await card.locator("tbody tr").all();
    assert.equal(rows.length, own.length);
    for (const [i, entry] of own.entries()) {
      const cells = await rows[i].locator("th,td").allInnerTexts();
      assert.equal(cells[0], entry.row);
      assert.equal(Number(cells[3].split(" ± ")[0].replaceAll("\u2212", "-")), Number(entry.published.toPrecision(4)));
      assert.equal(Number(cells[4].split(" ± ")[0].replaceAll("\u2212", "-")), Number(entry.measured.toPrecision(4)));
      assert.equal(await rows[i].locator(`td.${CLASSES[i]}`).innerText(), ["+1.0 %", "\u221210.0 %", "+50.0 %"][i]);
      assert.equal(cells[6], i === 0 ? "yes" : "no (1)");
    }
    assert.deepEqual(await card.locator("ol.notes li").allInnerTexts(), ["a reason with <b>"]);
    const { text } = await saved(page, card.getByRole("button", { name: "Save as CSV" }));
    parseCsv(text).forEach((line, i) => {
      assert.equal(Number(line.published), own[i].published);
      assert.equal(Number(line.measured), own[i].measured);
      assert.equal(line.note, own[i].note);
    });
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing serious in ${colorScheme}`, async () => {
    const other = await open("paper/report.html", { colorScheme, bypassCSP: true });
    assert.deepEqual(await flaws(other), []);
    await other.context().close();
  });
}

test("Figures 1 and 2 are drawn from the runs", async () => {
  const first = page.getByRole("group", { name: "Figure 1: average regret", exact: true });
  const second = page.getByRole("group", { name: "Figure 2: regret against the exploration rate", exact: true });
  for (const figure of [first, second]) assert.ok((await colouredPixels(figure)) > 200);
  // Of the sweep only the largest xi, with OFSKL and the bound.
  assert.deepEqual((await first.locator(".legend button").allInnerTexts()).map((text) => text.trim()),
    ["pof-mkl, M = 1, xi 1", "pof-mkl, M = 25, xi 1", "ofskl", "Theorem 2's bound"]);
  const { text } = await saved(page, page.getByRole("button", { name: "Save as SVG: Figure 2" }));
  assert.equal(text.match(/<circle /g).length, 6); // three xi, two M
});

test("every data set has a button, and each run its own command", async () => {
  const nav = page.getByRole("navigation", { name: "Data sets" });
  assert.deepEqual(await nav.getByRole("button").allInnerTexts(), ["synthetic", "elsewhere"]);
  assert.equal(await page.locator("code", { hasText: "polykern run --algorithm" }).count(), 7);
  await nav.getByRole("button", { name: "elsewhere" }).click();
  assert.equal(await page.getByRole("region", { name: "Algorithms" }).first().locator("tbody tr").count(), 1);
  assert.match(await page.locator(".answer h2").innerText(), /on elsewhere/);
  assert.deepEqual(page.complaints, []);
});
