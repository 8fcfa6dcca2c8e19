// The types of the page's code, which are those of the program's schema of result.json.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("../../web", import.meta.url));
const packages = join(process.env.POLYKERN_WEB, "node_modules");
const folder = mkdtempSync(join(tmpdir(), "polykern-types-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const TYPES = { text: "string", number: "number", truth: "boolean" };

/// Null in a run that diverged is left out: who reads such a field looks at `diverged` first.
function typeOf(field) {
  const item = field.object ?? TYPES[field.type];
  const lists = (field.null === "items" ? `(${item} | null)` : item) + "[]".repeat(field.shape?.length ?? 0);
  return field.null === "may be" ? `${lists} | null` : lists;
}

function declarations(schema) {
  return Object.entries(schema).map(([name, { open, fields }]) => {
    const lines = Object.entries(fields).map(([field, kind]) => `  ${field}${kind.optional ? "?" : ""}: ${typeOf(kind)};\n`);
    return `export interface ${name} {\n${lines.join("")}${open ? "  [field: string]: unknown;\n" : ""}}\n`;
  }).join("");
}

/// What TypeScript finds wrong.
function complaints(...files) {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({
    extends: join(web, "tsconfig.json"), include: files,
    compilerOptions: { types: [], paths: { uplot: [join(packages, "uplot/dist/uPlot.d.ts")], result: [join(folder, "result.d.ts")], "page/*": [join(web, "src/*")] } },
  }));
  return spawnSync(process.execPath, [join(packages, "typescript/bin/tsc"), "-p", folder], { encoding: "utf8" }).stdout;
}

before(() => {
  execFileSync(process.env.POLYKERN, ["run", "-k", "2", "-s", "3", "-r", "1", "-a", "local", "--out", folder]);
  const [, content] = readFileSync(join(folder, "report.html"), "utf8").match(/id="results">(.*?)<\/script>/s);
  writeFileSync(join(folder, "result.d.ts"), declarations(JSON.parse(content).schema));
});

test("the page's code keeps to the types of the schema", () => {
  assert.equal(complaints(join(web, "src")), "");
});

test("code that does not keep to them is noticed", () => {
  const wrong = { "run.mse_mean": "does not exist", "run.regret_mean + 1": "possibly 'null'", "run.curves.mse.length.x": "does not exist", "run.diverged.step": "possibly 'undefined'" };
  const lines = Object.keys(wrong).map((line, i) => `export const wrong${i} = (run: Run) => ${line};\n`);
  writeFileSync(join(folder, "wrong.ts"), `import type { Run } from "page/model";\n${lines.join("")}`);
  const found = complaints(join(folder, "wrong.ts")).trim().split("\n");
  assert.equal(found.length, lines.length, found.join("\n"));
  Object.values(wrong).forEach((words, i) => assert.ok(found[i].includes(words), found[i]));
});
