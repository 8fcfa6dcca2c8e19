// result.json keeps to the schema that the program declares, and docs/use/result.md and predictions.md have all of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { close, folder, open, polykern } from "./browser.mjs";

const docs = ["result", "predictions"].map((page) => readFileSync(new URL(`../../docs/use/${page}.md`, import.meta.url), "utf8")).join();
const older = fileURLToPath(new URL("result_19f2aeb.json", import.meta.url));
let schema;

/// Every field of an object that is not declared.
function undeclared(type, object) {
  const { open: any, fields } = schema[type];
  return Object.entries(object).flatMap(([name, value]) => {
    if (fields[name] === undefined) return any ? [] : [`${type}.${name}`];
    return fields[name].object !== undefined && value !== null ? undeclared(fields[name].object, value) : [];
  });
}

before(() => {
  polykern("run", "-k", "4", "-s", "20", "-r", "2", "-a", "pof-mkl,perfedavg", "-M", "51", "--coverage", "0.9", "--out", "new");
  const [, content] = readFileSync(join(folder, "new/report.html"), "utf8").match(/id="results">(.*?)<\/script>/s);
  ({ schema } = JSON.parse(content));
});
after(close);

test("every field that is written is declared", () => {
  const result = JSON.parse(readFileSync(join(folder, "new/result.json"), "utf8"));
  assert.deepEqual([...undeclared("Data", result.data), ...result.runs.flatMap((run) => undeclared("Run", run))], []);
});

test("every field that is declared is in the docs", () => {
  const missing = Object.values(schema).flatMap(({ fields }) => Object.keys(fields)).filter((name) => !docs.includes(`\`${name}\``));
  assert.deepEqual(missing, []);
});

test("a result of an older program is shown, with the numbers it has", async () => {
  const old = JSON.parse(readFileSync(older, "utf8"));
  polykern("report", older, "--out", "old.html");
  const page = await open("old.html");
  const rows = await page.locator("tbody").first().locator("tr").all();
  assert.equal(rows.length, old.runs.length);
  for (const [i, run] of old.runs.entries()) {
    const cells = await rows[i].locator("th,td").allInnerTexts();
    assert.ok(cells[0].startsWith(run.algorithm), cells[0]);
    assert.ok(cells[3].startsWith(run.mse.toPrecision(4)), cells[3]);
  }
  assert.deepEqual(page.complaints, []);
});
