// What a report shows at first, with all algorithms, with one repetition, and on a phone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, folder, open, polykern } from "./browser.mjs";

const CHARTS = ["Error over time", "Coverage over time", "Average regret", "Error against uplink", "Kernel weights over time", "Regret from client to client"];

before(() => {
  polykern("run", "-k", "8", "-s", "60", "-r", "2", "--coverage", "0.9", "--out", "all");
});
after(close);

const figure = (on, name) => on.getByRole("group", { name, exact: true });

test("in a report of all algorithms no two lines look alike, and those that the answer names are shown", async () => {
  const names = JSON.parse(readFileSync(join(folder, "all", "result.json"), "utf8")).runs.map((run) => run.algorithm);
  assert.ok(new Set(names).size >= 13 && names.length > 16, names.join());
  const marks = [];
  for (const colorScheme of ["light", "dark"]) {
    const other = await open("all/report.html", { colorScheme });
    for (const name of CHARTS) {
      const legend = figure(other, name).locator(".legend button");
      const looks = await legend.locator("svg").evaluateAll((all) => all.map((one) => {
        const { stroke, fill, fillOpacity, strokeDasharray } = getComputedStyle(one.firstChild);
        return [one.firstChild.outerHTML.split(" ")[0], one.firstChild.getAttribute("d"), stroke, fill, fillOpacity, strokeDasharray].join(" ");
      }));
      assert.equal(new Set(looks).size, looks.length, `${name}\n${looks.join("\n")}`);
      const labels = (await legend.allInnerTexts()).map((text) => text.trim());
      assert.equal(new Set(labels).size, labels.length, labels.join());
      if (colorScheme === "light" && name !== "Kernel weights over time") marks.push(new Map(labels.map((label, i) => [label, looks[i].match(/rgb[^)]*\)/)[0]])));
    }
    const text = await other.locator(".answer").innerText();
    const chart = figure(other, "Error over time");
    const hidden = await chart.locator('.legend button[aria-pressed="false"]').allInnerTexts();
    assert.ok(hidden.length > 0);
    for (const name of hidden) assert.ok(!text.includes(`${name.trim()} `), name);
    for (const name of CHARTS) { // nor is the one hidden that a chart's own words name
      const summary = await figure(other, name).locator(".summary").innerText();
      for (const line of await figure(other, name).locator('.legend button[aria-pressed="false"]').allInnerTexts()) assert.ok(!new RegExp(`(: |with )${line.trim()}( \\(| is farthest)`).test(summary), summary);
    }
    const hint = await chart.getByRole("status").evaluate((one) => getComputedStyle(one, "::before").content);
    assert.match(hint, new RegExp(`${names.length - hidden.length} of ${names.length} are shown at first`));
    assert.deepEqual(other.complaints, []);
    await other.context().close();
  }
  // A run has the same colour in all charts.
  for (const other of marks) for (const [label, color] of other) if (marks[0].has(label)) assert.equal(color, marks[0].get(label), label);
});

test("every bound of the regret names its algorithms", async () => {
  const other = await open("all/report.html");
  const bounds = (await figure(other, "Average regret").locator(".legend button").allInnerTexts()).filter((text) => text.includes("bound"));
  assert.deepEqual(bounds.map((text) => text.trim()), ["Theorem 2's bound (pof-mkl, local)", "Theorem 2's bound (fed-poe)"]);
  assert.match(await figure(other, "Average regret").locator(".summary").innerText(), /NeurIPS 2022/);
  await other.context().close();
});

test("the answer says whether the difference is clear, and no spread is shown of a single feature draw", async () => {
  const two = await open("all/report.html");
  const many = await two.locator(".answer").innerText();
  await two.context().close();
  assert.match(many, /\(standard deviation over 2 feature draws\)/);
  assert.match(many, /which is more than the spread over the feature draws|smaller than the spread over the feature draws/);
  polykern("run", "-k", "4", "-s", "20", "-r", "1", "-a", "ofskl,local", "--out", "once");
  const other = await open("once/report.html");
  const text = await other.locator(".answer").innerText();
  assert.ok(!text.includes("±") && text.includes("in a single feature draw"), text);
  assert.doesNotMatch((await other.locator("tbody").first().locator("tr > :nth-child(4)").allInnerTexts()).join(), /±/);
  assert.match(await other.locator(".summary").first().innerText(), /± is the standard deviation of the regret over the clients/);
  await other.context().close();
});

test("a table that is cut off on the right says so, until its end is reached", async () => {
  const other = await open("all/report.html", { viewport: { width: 390, height: 844 } });
  const scroll = other.locator(".scroll").first();
  const hasMore = () => scroll.evaluate((one) => one.classList.contains("more"));
  await other.waitForFunction(() => document.querySelector(".scroll").classList.contains("more"));
  await scroll.evaluate((one) => { one.scrollLeft = one.scrollWidth; });
  await other.waitForFunction(() => !document.querySelector(".scroll").classList.contains("more"));
  await other.setViewportSize({ width: 1280, height: 900 });
  assert.equal(await hasMore(), false);
  await other.context().close();
});
