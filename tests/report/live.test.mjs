// polykern serve --web, seen in a browser, with a hundred clients that are there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, flaws, folder, openUrl, parseCsv, polykern, saved } from "./browser.mjs";

const CLIENTS = 100;
const EVIL = "<img src=x onerror=window.hacked=1>";
const processes = [];
let [address, url, token] = ["", "", ""];
let feeding;
let page;

function start(...words) {
  const process_ = spawn(process.env.POLYKERN, words, { cwd: folder, stdio: ["pipe", "pipe", "ignore"] });
  process_.stdin.on("error", () => {});
  processes.push(process_);
  return process_;
}

function firstLine(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (part) => { text += part; if (text.includes("\n")) resolve(text.split("\n")[0]); });
    child.on("exit", (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
}

const certificate = (name) => ({ cert: readFileSync(join(folder, `${name}/client.crt`)), key: readFileSync(join(folder, `${name}/client.key`)) });

/// {status, headers, text}, or {error}.
function ask(path, options = {}, place = url) {
  return new Promise((resolve) => {
    const asking = request(`${place}${path}`, { ca: readFileSync(join(folder, "pki/ca.crt")), agent: false, ...options }, (answer) => {
      let text = "";
      answer.on("data", (part) => { text += part; });
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
    });
    asking.on("error", (error) => resolve({ error: error.message }));
    asking.end();
  });
}

const OPTIONS = ["--algorithm", "pof-mkl", "--kernels", "5", "--features", "4", "--kernels-per-upload", "2", "--columns", "a,b", "--target", "y",
  "--target-range", "0:1", "--range", "a=0:1,b=0:1"];
/// A server, and what it says first.
const serve = (...words) => firstLine(start("serve", "--listen", "127.0.0.1:0", "--web", "0", ...OPTIONS, ...words));
const pageOf = (line) => line.match(/page on (https:\/\/127\.0\.0\.1:\d+)/)[1];

const withToken = (word) => ({ headers: { authorization: `Bearer ${word}` } });

/// The page, opened with the token, once it shows something.
async function visit(options = {}) {
  const opened = await openUrl(`${url}/`, { ignoreHTTPSErrors: true, httpCredentials: { username: "anna", password: token }, ...options },
    (asked) => asked.startsWith(`${url}/`));
  await opened.getByRole("heading", { level: 2 }).getByText("connected").waitFor();
  await opened.getByRole("group", { name: "Skill", exact: true }).waitFor();
  return opened;
}

before(async () => {
  const names = Array.from({ length: CLIENTS }, (_, i) => `load-${i}`);
  writeFileSync(join(folder, "names.txt"), `${names.join("\n")}\n`);
  polykern("pki", "init", "--server", "localhost,127.0.0.1");
  polykern("pki", "issue", "@names.txt");
  for (const name of ["station", "visitor", "thief"]) polykern("pki", "issue", name, "--out", name);
  polykern("pki", "revoke", "thief");
  const line = await serve("--web-token", "web.token", "--quorum", String(CLIENTS + 1), "--max-connected", "200");
  address = line.match(/listening on ([0-9.]+:\d+)/)[1];
  url = pageOf(line);
  token = readFileSync(join(folder, "web.token"), "utf8").trim();
  start("load", "--server", address, "--certificates", "pki/clients", "--clients", String(CLIENTS), "--seconds", "600");
  // A station that is not in a hurry, which every step waits for.
  const station = start("join", "--server", address, "--certificates", "station", "--report", "--wait");
  station.stdin.write("a,b,y\n");
  let t = 0;
  feeding = setInterval(() => { ++t; station.stdin.write(`${(t % 7) / 7},${(t % 5) / 5},${((t % 7) / 7 + (t % 5) / 5) / 2}\n`); }, 100);
  while (JSON.parse((await ask("/state", withToken(token))).text).server.step < 3) await new Promise((resolve) => setTimeout(resolve, 100));
  polykern("client", "label", ".", "load-7", EVIL);
  page = await visit();
});
after(async () => {
  clearInterval(feeding);
  for (const one of processes) one.kill("SIGKILL");
  await close();
});

test("no visitor gets in without a valid certificate or the token", async () => {
  for (const path of ["/", "/state", "/live.js", "/live.css", "/nothing"]) {
    for (const options of [{}, withToken("x"), withToken(`${token}x`), withToken(""), { headers: { authorization: `Basic ${token}` } }, certificate("thief")]) {
      const { status, headers, text } = await ask(path, options);
      assert.equal(status, 401, `${path} ${JSON.stringify(options)}`);
      assert.match(headers["www-authenticate"], /^Basic /);
      assert.ok(!text.includes("load-") && !text.includes("polykern federation"), text);
    }
  }
  const basic = { headers: { authorization: `Basic ${Buffer.from(`anybody:${token}`).toString("base64")}` } };
  for (const options of [withToken(token), basic, certificate("visitor")]) {
    const { status, headers, text } = await ask("/", options);
    assert.equal(status, 200);
    assert.match(text, /polykern federation/);
    const policy = headers["content-security-policy"];
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) assert.ok(policy.includes(part), policy);
    assert.ok(!policy.includes("unsafe"), policy);
  }
  assert.equal((await ask("/state", { ...withToken(token), method: "POST" })).status, 405);
  assert.equal((await ask("/../store.db", withToken(token))).status, 404);
});

test("a certificate of another authority does not pass", async () => {
  polykern("pki", "init", "--dir", "other", "--server", "localhost");
  polykern("pki", "issue", "visitor", "--dir", "other", "--out", "stranger");
  const { status, error } = await ask("/state", { ...certificate("stranger"), ...withToken(token) });
  assert.ok(status === undefined && error !== undefined, String(status));
});

test("where viewers are named, no other certificate opens the page", async () => {
  const other = pageOf(await serve("--store", "other.db", "--web-viewers", "visitor"));
  assert.equal((await ask("/state", certificate("visitor"), other)).status, 200);
  for (const options of [certificate("station"), certificate("thief"), withToken(token), {}]) {
    assert.equal((await ask("/state", options, other)).status, 403);
  }
});

test("visitors who say nothing do not keep others out", async () => {
  const idle = Array.from({ length: 100 }, () => connect(Number(url.split(":").at(-1)), "127.0.0.1").on("error", () => {}));
  await Promise.all(idle.map((socket) => once(socket, "connect")));
  idle.slice(0, 50).forEach((socket) => socket.write(Buffer.from("16030100", "hex")));  // and half a hello
  for (let i = 0; i < 3; ++i) assert.equal((await ask("/state", withToken(token))).status, 200);
  idle.forEach((socket) => socket.destroy());
});

test("a hundred clients are shown as they are, and the page follows the steps", async () => {
  const heading = page.getByRole("heading", { level: 2 });
  const step = async () => Number((await heading.innerText()).match(/step (\d+)/)[1]);
  assert.match(await heading.innerText(), /^pof-mkl is at step \d+, with 101 of 101 clients connected$/);
  assert.equal(await page.getByText("Healthy", { exact: true }).count(), 1);
  const before = await step();
  await page.waitForFunction((past) => Number(document.querySelector("h2").textContent.match(/step (\d+)/)[1]) > past, before);
  const tile = (name) => page.locator(".tiles .card", { hasText: name }).locator(".big").innerText();
  assert.equal(await tile("Clients connected"), "101 of 101");
  assert.equal(await tile("Privacy budget"), "none");
  assert.match(await tile("Error reported"), /^[\d.e−]+$/);
  assert.match(await tile("Skill"), / %$/);
  const card = page.locator("section", { has: page.getByRole("heading", { name: "Clients", exact: true }) });
  assert.equal(await card.locator("tbody tr").count(), CLIENTS + 1);
  const file = await saved(page, page.getByRole("button", { name: "Save as CSV: Clients" }));
  const rows = parseCsv(file.text);
  const row = (name) => rows.find((one) => one.Client === name);
  assert.ok(rows.every((one) => one.State === "connected"), JSON.stringify(rows.find((one) => one.State !== "connected")));
  assert.ok(Number(row("station").Error) > 0 && row("load-3").Error === "");
  assert.match(row("load-3").Version, /^\d+\.\d+/);
  assert.deepEqual(page.complaints, []);
});

test("text from data is shown as text", async () => {
  const row = page.locator("tbody tr", { has: page.getByText("load-7", { exact: true }) });
  assert.equal(await row.locator("td").last().innerText(), EVIL);
  assert.equal(await page.locator("main img").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  // Nor could it become anything else if somebody tried.
  const tried = await page.evaluate((html) => { try { document.body.innerHTML = html; return "done"; } catch { return "refused"; } }, EVIL);
  assert.equal(tried, "refused");
});

test("a table stays sorted as the reader wants it while it changes", async () => {
  const card = page.locator("section", { has: page.getByRole("heading", { name: "Clients", exact: true }) });
  const head = card.getByRole("columnheader", { name: "Client" });
  await head.getByRole("button").click();
  await head.getByRole("button").click();
  const first = () => card.locator("tbody th").first().innerText();
  assert.equal(await first(), "station");
  const next = () => card.locator("tbody tr").first().locator("td").nth(1).innerText();
  const before = Number(await next());
  await page.waitForFunction((past) => Number(document.querySelector("tbody tr td:nth-child(3)").textContent) > past, before);
  assert.equal(await first(), "station");
  assert.equal(await head.getAttribute("aria-sort"), "descending");
});

for (const [name, look] of Object.entries({ light: { colorScheme: "light" }, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 } } })) {
  test(`axe finds nothing serious, and nothing is too wide: ${name}`, async () => {
    const other = await visit({ ...look, bypassCSP: true });
    if (process.env.POLYKERN_PICTURES) await other.screenshot({ path: join(process.env.POLYKERN_PICTURES, `live-${name}.png`), fullPage: true });
    assert.deepEqual(await flaws(other), []);
    await other.context().close();
  });
}

test("a server that ends is noticed", async () => {
  processes[0].kill("SIGKILL");
  await page.getByRole("alert").getByText("The values shown may be old: the server does not answer.").waitFor();
  assert.equal(await page.locator(".health").innerText(), "Not known");
});
