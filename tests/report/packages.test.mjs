// What the report is built from.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const web = new URL("../../web/", import.meta.url);
const lock = readFileSync(new URL("package-lock.json", web), "utf8");

test("the lock file names versions and sums of all packages, and no host that has them", () => {
  const { "": own, ...packages } = JSON.parse(lock).packages;
  const wanted = { ...own.dependencies, ...own.devDependencies };
  for (const [name, version] of Object.entries(wanted)) assert.equal(packages[`node_modules/${name}`]?.version, version);
  for (const [name, entry] of Object.entries(packages)) {
    assert.match(entry.integrity, /^sha512-/, name);
    assert.equal(entry.resolved, undefined, name);
  }
  assert.doesNotMatch(lock, /https?:/);
});
