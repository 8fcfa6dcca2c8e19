// polykern run --out and polykern report, seen in a browser.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, colouredPixels, flaws, folder, open, parseCsv, polykern, polykernFails, saved } from "./browser.mjs";

const result = (name) => JSON.parse(readFileSync(join(folder, name, "result.json"), "utf8"));
const CHARTS = ["Error over time", "Coverage over time", "Average regret", "Error against uplink", "Kernel weights over time", "Regret from client to client"];

let page;
before(async () => {
  polykern("run", "-k", "12", "-s", "150", "-r", "2", "-a", "pof-mkl,pof-adagrad,ofskl,perfedavg,local", "--coverage", "0.9", "--out", "fleet");
  page = await open("fleet/report.html");
});
after(close);

const figure = (on, name) => on.getByRole("group", { name, exact: true });

test("the answer comes first and names the run with the lowest error", async () => {
  const runs = result("fleet").runs;
  const best = runs.reduce((a, b) => (b.mse < a.mse ? b : a));
  const text = await page.locator(".answer").innerText();
  assert.match(text, /12 clients at 4 sites/);
  const winner = await page.locator(".answer strong").innerText();
  assert.ok(winner.startsWith(best.algorithm), winner);
  assert.ok(winner.includes(`M = ${best.kernels_per_upload}`), winner);
  assert.ok(text.includes(best.mse.toPrecision(4)), text);
  assert.ok(text.includes(`${Math.round(best.uplink_numbers_mean)} numbers`), text);
});

test("the table shows the numbers of result.json, and saves them in full", async () => {
  const runs = result("fleet").runs;
  const card = page.getByRole("region", { name: "Algorithms" }).first();
  const rows = await card.locator("tbody tr").all();
  assert.equal(rows.length, runs.length);
  const file = await saved(page, page.getByRole("button", { name: "Save as CSV: Algorithms" }));
  assert.equal(file.name, "algorithms.csv");
  const lines = parseCsv(file.text);
  for (const [i, run] of runs.entries()) {
    const cells = await rows[i].locator("th,td").allInnerTexts();
    assert.ok(cells[0].startsWith(run.algorithm));
    assert.ok(cells[3].startsWith(run.mse.toPrecision(4)), cells[3]);
    const mean = run.uplink_numbers_mean.toFixed(0);
    assert.ok(Math.abs(Number(cells[4].replace("−", "-")) - run.skill) < 0.006, `${cells[4]} ${run.skill}`);
    assert.equal(cells[7], mean === String(run.uplink_numbers) ? mean : `${mean} (${run.uplink_numbers})`);
    for (const field of ["uplink_numbers", "uplink_numbers_mean", "mse", "mse_std", "skill", "r2", "rmse", "last_label_mse", "running_mean_mse", "regret_mean", "regret_bound", "uplink_bytes", "microseconds_per_sample"]) {
      assert.equal(lines[i][field] === "" ? null : Number(lines[i][field]), run[field], field);
    }
  }
});

test("a click on a column sorts, a second one turns it round, and what is missing stays last", async () => {
  const card = page.getByRole("region", { name: "Algorithms" }).first();
  const runs = result("fleet").runs;
  const column = async (c) => (await card.locator(`tbody tr > :nth-child(${c})`).allInnerTexts());
  const head = card.getByRole("columnheader", { name: "Regret" });
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  const known = runs.filter((run) => run.regret_mean !== null).sort((a, b) => a.regret_mean - b.regret_mean);
  const rising = await column(1);
  assert.ok(rising[0].startsWith(known[0].algorithm));
  assert.equal(rising.at(-1), "perfedavg");
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  const falling = await column(1);
  assert.deepEqual(falling.slice(0, known.length), rising.slice(0, known.length).reverse());
  assert.equal(falling.at(-1), "perfedavg");
});

for (const name of CHARTS) {
  test(`"${name}" has marks, a legend that hides and shows, values under the keys, and saves`, async () => {
    const chart = figure(page, name);
    const before = await colouredPixels(chart);
    assert.ok(before > 200, `${before} coloured pixels`);
    const legend = chart.locator(".legend button");
    const count = await legend.count();
    const save = (kind) => saved(page, page.getByRole("button", { name: `Save as ${kind}: ${name}`, exact: true }));
    const series = (text) => text.match(/<g class="series">/g).length;
    const shown = await chart.locator('.legend button[aria-pressed="true"]').count();
    assert.equal(series((await save("SVG")).text), shown);

    const plot = chart.getByRole("img");
    await plot.focus();
    await plot.press("ArrowRight");
    await plot.press("ArrowRight");
    assert.notEqual(await chart.getByRole("status").innerText(), "");
    assert.match((await chart.locator(".legend .value").allInnerTexts()).join(""), /\d/);

    for (let i = 0; i < count; ++i) await legend.nth(i).click();
    const turned = await chart.locator('.legend button[aria-pressed="true"]').count();
    assert.equal(turned, count - shown);
    if (turned === 0) assert.ok((await colouredPixels(chart)) < before / 10);
    for (let i = 0; i < count; ++i) await legend.nth(i).click();
    assert.ok(Math.abs((await colouredPixels(chart)) - before) < before / 10);

    const vector = await save("SVG");
    assert.match(vector.name, /\.svg$/);
    const drawn = await page.evaluate((text) => {
      const document = new DOMParser().parseFromString(text, "image/svg+xml");
      return { bad: document.querySelector("parsererror") !== null, marks: document.querySelectorAll("g.series path, g.series circle").length, text: document.documentElement.textContent };
    }, vector.text);
    assert.equal(drawn.bad, false);
    assert.ok(drawn.marks >= shown);
    assert.ok(drawn.text.includes(name));
    assert.ok(!vector.text.includes("NaN") && !vector.text.includes("Infinity"));
    const pixels = await save("PNG");
    assert.match(pixels.name, /\.png$/);
    assert.equal(pixels.data.subarray(1, 4).toString(), "PNG");
    assert.ok(pixels.data.length > 5000);
  });
}

test("the pointer shows the values at a step", async () => {
  const chart = figure(page, "Error over time");
  await chart.getByLabel("Mean over the last").selectOption({ index: 0 });
  const over = chart.locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const step = Number((await chart.getByRole("status").innerText()).replace("step: ", ""));
  assert.ok(step > 60 && step < 90, String(step));
  const run = result("fleet").runs.find((one) => one.algorithm === "local");
  const entry = chart.locator(".legend button", { has: page.getByText("local", { exact: true }) });
  const value = Number(await entry.locator(".value").innerText());
  assert.equal(value, Number(run.curves.mse[run.curves.step.indexOf(step)].toPrecision(4)));
});

test("the saved error curve is the one of result.json", async () => {
  const chart = figure(page, "Error over time");
  await chart.getByLabel("Mean over the last").selectOption({ index: 0 });
  const { text } = await saved(page, page.getByRole("button", { name: "Save as SVG: Error over time" }));
  const run = result("fleet").runs.find((one) => one.algorithm === "local");
  const path = text.match(/<path d="([^"]*)"[^>]*><title>local<\/title>/)[1];
  const ys = path.split(/[ML]/).slice(1).map((point) => Number(point.split(" ")[1]));
  assert.equal(ys.length, run.curves.mse.length);
  // A logarithmic axis: heights are a straight line over the logarithm of the errors.
  const logs = run.curves.mse.map(Math.log10);
  const slope = (ys[100] - ys[0]) / (logs[100] - logs[0]);
  ys.forEach((y, i) => assert.ok(Math.abs(y - ys[0] - slope * (logs[i] - logs[0])) < 0.3, `point ${i}`));
});

test("epsilon over time and the error against it are those of result.json", async () => {
  polykern("run", "-k", "12", "-s", "40", "-r", "2", "-a", "pof-gram", "--epsilon", "1,8", "--releases", "5", "--out", "noisy");
  const runs = result("noisy").runs;
  const noisy = await open("noisy/report.html");
  const lines = async (title) => {
    const { text } = await saved(noisy, noisy.getByRole("button", { name: `Save as SVG: ${title}` }));
    return [...text.matchAll(/<path d="([^"]*)"[^>]*><title>([^<]*)<\/title>/g)]
      .map(([, path]) => path.split(/[ML]/).slice(1).map((point) => point.split(" ").map(Number)));
  };
  const straight = (drawn, values) => {
    assert.equal(drawn.length, values.length);
    const [low, high] = [values.indexOf(Math.min(...values)), values.indexOf(Math.max(...values))];
    const slope = (drawn[high] - drawn[low]) / (values[high] - values[low]);
    drawn.forEach((y, i) => assert.ok(Math.abs(y - drawn[low] - slope * (values[i] - values[low])) < 0.3, `point ${i}`));
  };
  const spent = await lines("Epsilon spent over time");
  assert.equal(spent.length, 2);
  for (const [i, run] of runs.entries()) {
    straight(spent[i].map(([, y]) => y), run.curves.epsilon);
    assert.ok(Math.abs(run.curves.epsilon.at(-1) - run.epsilon_spent) < 1e-12);
  }
  const [errors] = await lines("Error against epsilon");
  assert.equal(errors.length, 2);
  assert.ok(errors[1][0] > errors[0][0] && (errors[1][1] > errors[0][1]) === (runs[1].mse < runs[0].mse));
  await noisy.close();
});

test("the coverage over time is that of result.json, beside what was asked for", async () => {
  const chart = figure(page, "Coverage over time");
  await chart.getByLabel("Mean over the last").selectOption({ index: 0 });
  const { text } = await saved(page, page.getByRole("button", { name: "Save as SVG: Coverage over time" }));
  const run = result("fleet").runs.find((one) => one.algorithm === "local");
  const heights = (name) => text.match(new RegExp(`<path d="([^"]*)"[^>]*><title>${name}</title>`))[1]
    .split(/[ML]/).slice(1).map((point) => Number(point.split(" ")[1]));
  const [ys, wish] = [heights("local"), heights("asked for: 90 %")];
  assert.equal(run.curves.coverage[0], null);
  const parts = run.curves.coverage.slice(1);
  assert.equal(ys.length, parts.length);
  const high = parts.indexOf(Math.max(...parts));
  const low = parts.indexOf(Math.min(...parts));
  const slope = (ys[high] - ys[low]) / (parts[high] - parts[low]);
  ys.forEach((y, i) => assert.ok(Math.abs(y - ys[low] - slope * (parts[i] - parts[low])) < 0.3, `point ${i}`));
  assert.ok(Math.abs(wish[0] - ys[low] - slope * (0.9 - parts[low])) < 0.3 && wish[0] === wish[1]);
});

test("the clients of the chosen run stand in a table that sorts and saves", async () => {
  const runs = result("fleet").runs;
  const best = runs.reduce((a, b) => (b.mse < a.mse ? b : a));
  const card = page.locator("section", { has: page.getByRole("heading", { name: "Clients", exact: true }) });
  const column = (c) => card.locator(`tbody tr > :nth-child(${c})`).allInnerTexts();
  assert.deepEqual(await column(1), best.client_scores.names);
  assert.deepEqual(await column(2), best.client_scores.sites.map((site) => result("fleet").data.sites[site]));
  const near = (text, value) => assert.ok(Math.abs(Number(text.replace("−", "-")) - value) <= 0.006 * Math.abs(value), `${text} ${value}`);
  (await column(3)).forEach((text, i) => near(text, best.client_scores.mse[i]));
  (await column(4)).forEach((text, i) => near(text, best.client_scores.skill[i]));
  (await column(5)).forEach((text, i) => near(text, best.client_scores.coverage[i]));
  await card.getByLabel("Run").selectOption("local");
  const local = runs.find((one) => one.algorithm === "local");
  const head = card.getByRole("columnheader", { name: "MSE" });
  await head.getByRole("button").click();
  const order = local.client_scores.mse.map((mse, i) => [mse, local.client_scores.names[i]]).sort((a, b) => a[0] - b[0]);
  assert.deepEqual(await column(1), order.map(([, name]) => name));
  const file = await saved(page, page.getByRole("button", { name: "Save as CSV: Clients" }));
  const lines = parseCsv(file.text);
  assert.equal(lines.length, 12);
  assert.deepEqual(Object.keys(lines[0]), ["client", "site", "mse", "skill", "coverage"]);
  assert.ok(Math.abs(Number(lines[0].mse) - order[0][0]) < 1e-5);
  const worse = local.client_scores.skill.filter((skill) => skill < 0).length;
  assert.match(await card.locator(".summary").innerText(), new RegExp(`local: 12 clients\\. ${worse} of 12 would do better`));
});

test("rows of a sweep are told apart by what varies, in table and legend", async () => {
  polykern("run", "-k", "3", "-s", "20", "-r", "1", "-a", "pof-newton,local", "-N", "5", "-D", "4", "-M", "1", "--forgetting", "0.9,auto", "--out", "swept");
  const other = await open("swept/report.html");
  const wanted = ["pof-newton, forgetting 0.9", "pof-newton, forgetting auto", "local"];
  assert.deepEqual(await other.getByRole("region", { name: "Algorithms" }).first().locator("tbody th").allInnerTexts(), wanted);
  const legend = figure(other, "Error over time").locator(".legend button");
  assert.deepEqual((await legend.allInnerTexts()).map((text) => text.trim()), wanted);
  assert.equal(await figure(other, "Coverage over time").count(), 0);
  assert.equal(await other.getByRole("columnheader", { name: "Coverage" }).count(), 0);
  assert.deepEqual(other.complaints, []);
});

test("of very many clients a hundred are in the table, which scrolls", async () => {
  polykern("run", "-k", "300", "-s", "5", "-r", "1", "-a", "local", "-N", "3", "-D", "2", "--out", "crowd");
  const other = await open("crowd/report.html");
  const card = other.locator("section", { has: other.getByRole("heading", { name: "Clients", exact: true }) });
  assert.equal(await card.locator("tbody tr").count(), 100);
  assert.match(await card.locator(".summary").innerText(), /100 of 300 clients, evenly from all/);
  assert.ok((await card.boundingBox()).height < 700);
  assert.deepEqual(other.complaints, []);
});

test("the heat map has a line for each client, in the order of the sites, and tells each weight", async () => {
  const run = result("fleet").runs.filter((one) => one.client_weights).reduce((a, b) => (b.mse < a.mse ? b : a));
  const weights = run.client_weights;
  assert.deepEqual(weights.sites, [...weights.sites].sort((a, b) => a - b));
  const chart = figure(page, "Kernel weights of all clients");
  const cells = await chart.locator("svg.heat rect[fill-opacity]").count();
  assert.equal(cells, weights.last.flat().filter((weight) => weight > 0).length);
  const map = chart.getByRole("img");
  await map.focus();
  for (let i = 0; i < 3; ++i) await map.press("ArrowDown");
  const said = await chart.getByRole("status").innerText();
  assert.ok(said.startsWith(`client ${weights.clients[2]} at ${result("fleet").data.sites[weights.sites[2]]}`), said);
  const { text } = await saved(page, page.getByRole("button", { name: "Save as SVG: Kernel weights of all clients" }));
  assert.equal(text.match(/fill-opacity/g).length, cells);
});

test("the settings hold the command that makes it again", async () => {
  assert.equal(await page.locator("code").first().innerText(), result("fleet").command);
});

test("no error is on the console and no request leaves the file", () => {
  assert.deepEqual(page.complaints, []);
});

for (const look of [{ colorScheme: "light" }, { colorScheme: "dark" }, { colorScheme: "light", viewport: { width: 360, height: 740 } }]) {
  test(`axe finds nothing serious: ${JSON.stringify(look)}`, async () => {
    const other = await open("fleet/report.html", { ...look, bypassCSP: true });
    assert.deepEqual(await flaws(other), []);
    await other.context().close();
  });
}

test("every control can be reached by its name, and by the keyboard", async () => {
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, select, [tabindex]")]
    .filter((one) => !(one.textContent || one.getAttribute("aria-label") || one.getAttribute("aria-labelledby"))).length);
  assert.equal(unnamed, 0);
  const button = page.getByRole("button", { name: "ofskl" }).first();
  await button.focus();
  await button.press("Enter");
  assert.equal(await button.getAttribute("aria-pressed"), "false");
});

test("text from data is shown as text", async () => {
  const evil = "<script>window.hacked=1</script>";
  const site = "<img src=x onerror=window.hacked=2>";
  const lines = [`a,"${evil}",where,y`];
  for (let i = 0; i < 240; ++i) lines.push(`${Math.sin(i)},${Math.cos(3 * i)},${i % 2 ? site : "</script><b>"},${Math.sin(i) ** 2}`);
  writeFileSync(join(folder, "<script>.csv"), lines.join("\n"));
  polykern("run", "--data", "<script>.csv", "--target", evil, "--site", "where", "--split", "site", "-k", "4", "-r", "1", "-a", "pof-mkl", "-M", "51", "--out", "evil");
  const other = await open("evil/report.html");
  assert.equal(await other.evaluate(() => window.hacked), undefined);
  const text = await other.locator("main").evaluate((main) => main.textContent);
  for (const part of [evil, site, "</script><b>", "<script>.csv"]) assert.ok(text.includes(part), part);
  const { text: picture } = await saved(other, other.getByRole("button", { name: "Save as SVG: Kernel weights of all clients" }));
  assert.ok(!picture.includes("<img") && picture.includes("&lt;img"));
  assert.equal(await other.locator("main script, main img, main b").count(), 0);
  assert.deepEqual(other.complaints, []);
});

test("several results stand side by side, and a sweep over xi has charts", async () => {
  for (const rate of ["0.2", "0.6"]) {
    polykern("run", "-k", "12", "-s", "40", "-r", "1", "-a", "pof-mkl", "-M", "25", "--exploration", rate, "--no-report", "--out", `xi${rate}`);
  }
  polykern("report", "xi0.2", "xi0.6/result.json", "--out", "both.html");
  const other = await open("both.html");
  const text = await other.locator("main").innerText();
  assert.ok(text.includes("xi0.2") && text.includes("xi0.6"));
  const labels = await other.getByRole("region", { name: "Algorithms" }).first().locator("tbody th").allInnerTexts();
  assert.deepEqual(labels, ["pof-mkl, xi 0.2", "pof-mkl, xi 0.6"]);
  for (const name of ["Regret against the exploration rate", "Error against the exploration rate"]) {
    assert.ok((await colouredPixels(figure(other, name))) > 50, name);
  }
  const { text: picture } = await saved(other, other.getByRole("button", { name: "Save as SVG: Regret against the exploration rate" }));
  assert.equal(picture.match(/<circle /g).length, 2);
  assert.deepEqual(other.complaints, []);
});

test("a run that diverged is named, and wins nothing", async () => {
  const { status, stderr } = polykernFails("run", "-k", "8", "-s", "60", "-r", "1", "-a", "pof-mkl", "-M", "1,51", "--exploration", "0.2", "--learning-rate", "3", "--out", "lost");
  assert.equal(status, 1);
  assert.match(stderr, /diverged/);
  const lost = result("lost").runs.filter((run) => run.diverged);
  assert.ok(lost.length > 0);
  const other = await open("lost/report.html");
  const cells = await other.locator("tbody td").allInnerTexts();
  for (const run of lost) assert.ok(cells.includes(`diverged at step ${run.diverged.step}`));
  assert.match(await other.locator(".answer").innerText(), /Diverged: pof-mkl|every run diverged/);
  assert.deepEqual(other.complaints, []);
});

test("on paper it is dark on white, whatever the screen", async () => {
  const other = await open("fleet/report.html", { colorScheme: "dark" });
  const ground = () => other.evaluate(() => getComputedStyle(document.querySelector(".card")).backgroundColor);
  assert.notEqual(await ground(), "rgb(255, 255, 255)");
  await other.emulateMedia({ media: "print" });
  await other.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await ground(), "rgb(255, 255, 255)");
  assert.equal(await other.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  await other.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.notEqual(await ground(), "rgb(255, 255, 255)");
});

test("a report of very many steps and clients stays below 3 MB", () => {
  polykern("run", "-k", "2", "-s", "30000", "-r", "1", "-a", "pof-mkl,pof-adagrad", "--features", "2", "-M", "1,5,51", "--out", "long");
  polykern("run", "-k", "3000", "-s", "20", "-r", "1", "-a", "pof-mkl", "--features", "2", "-M", "1,2,5,10,51", "--out", "wide");
  // A curve has as many points for a million steps: per run, all there is must fit thirty times.
  for (const [name, runs] of [["long", 6], ["wide", 5]]) {
    assert.equal(result(name).runs.length, runs);
    assert.ok(statSync(join(folder, name, "report.html")).size < (3e6 * runs) / 30 + 1e5, name);
  }
});
