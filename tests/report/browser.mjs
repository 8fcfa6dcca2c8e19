// A real browser on real reports. POLYKERN names the program, POLYKERN_WEB the folder with npm's packages.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.POLYKERN_WEB, "package.json"));
const { chromium } = require("playwright-core");
const axeSource = require("axe-core").source;

export const folder = mkdtempSync(join(tmpdir(), "polykern-report-"));

export function polykern(...words) {
  return execFileSync(process.env.POLYKERN, words, { cwd: folder, encoding: "utf8", timeout: 120_000 });
}

/// For commands that fail: {status, stderr}.
export function polykernFails(...words) {
  return spawnSync(process.env.POLYKERN, words, { cwd: folder, encoding: "utf8", timeout: 120_000 });
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run"],
});

export async function close() {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

/// Opens a report. page.complaints collects errors and everything asked of the world outside the file.
export async function open(file, options = {}) {
  const url = pathToFileURL(join(folder, file)).href;
  return openUrl(url, options, (asked) => asked === url);
}

/// The same of any page, which may ask for what `own` says.
export async function openUrl(url, options, own) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.complaints.push(message.text()); });
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("request", (request) => {
    if (!own(request.url()) && !/^(data|blob):/.test(request.url())) page.complaints.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

/// What axe-core finds that is serious, and how much wider than its window a page is; it needs bypassCSP.
export async function flaws(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes[0].html}`);
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  return wide <= room ? serious : [...serious, `${wide} pixels wide in ${room}`];
}

/// What a click on a button saves: {name, text} or, for pictures, {name, data}.
export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const data = Buffer.concat(chunks);
  return { name: download.suggestedFilename(), data, text: data.toString("utf8") };
}

/// RFC 4180, the other way round.
export function parseCsv(text) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; ++i) {
    const row = rows[rows.length - 1];
    if (quoted ? text[i] === '"' && text[i + 1] === '"' : false) { row[row.length - 1] += '"'; ++i; }
    else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text[i] === ",") row.push("");
    else if (!quoted && text[i] === "\n") rows.push([""]);
    else row[row.length - 1] += text[i];
  }
  rows.pop();
  const [head, ...lines] = rows;
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i]])));
}

/// How many pixels of a chart's canvas have a colour: grid and numbers are grey.
export async function colouredPixels(figure) {
  return figure.locator("canvas").evaluate((canvas) => {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b, a] = data.slice(i, i + 4);
      if (a > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 60) ++count;
    }
    return count;
  });
}
