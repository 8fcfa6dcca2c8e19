// node build.mjs PACKAGES PAGE.cc: bundles src/ with the packages of a folder into one HTML page,
// and writes it as the C++ source of polykern::ReportPage(); likewise, as separate files, the page of a federation's server.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [packages, output] = process.argv.slice(2);
const source = join(dirname(fileURLToPath(import.meta.url)), "src");
const { buildSync } = createRequire(join(packages, "package.json"))("esbuild");

function bundle(entry) {
  return buildSync({
    entryPoints: [join(source, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2020",
    nodePaths: [join(packages, "node_modules")],
    legalComments: "none",
  }).outputFiles[0].text.trim();
}

// Code stands inside HTML elements, so it must not hold what ends them.
const script = bundle("main.ts").replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const html = readFileSync(join(source, "page.html"), "utf8")
  .replace("/* style */", () => bundle("style.css"))
  .replace("/* script */", () => script);

const literal = (text) => text.match(/[^]{1,8000}/gu).map((chunk) => `R"page(${chunk})page"`).join("\n");
const live = [readFileSync(join(source, "live.html"), "utf8"), bundle("live.ts"), bundle("style.css")];
writeFileSync(
  output,
  `#include "report_files.h"\nstd::string_view polykern::ReportPage() {\n  return\n${literal(html)};\n}\n` +
    `polykern::LivePage polykern::FederationPage() {\n  return {${live.map(literal).join(",\n")}};\n}\n` +
    `std::string_view polykern::WhyNoPage() {\n  return {};\n}\n`,
);
