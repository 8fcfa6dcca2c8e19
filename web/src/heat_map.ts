// The weights of all clients after the last step: a line for each client, ordered by site, a column for each kernel.
import { el, freshId, svg } from "./dom";
import { short } from "./format";
import { atSite, type ClientWeights, type Run, WEIGHT_UNIT } from "./model";
import { escapeXml, frame } from "./picture";
import { saveButtons } from "./save";
import { lineColor } from "./theme";

const PAPER = 900; // pixels of the saved picture, and at most on the screen
const TOP = 8;

interface Block { name: string; first: number; count: number }

/// Runs of neighbouring clients at the same site.
function blocks(run: Run, weights: ClientWeights): Block[] {
  const list: Block[] = [];
  weights.sites.forEach((site, row) => {
    const last = list[list.length - 1];
    if (last !== undefined && weights.sites[row - 1] === site) last.count += 1;
    else list.push({ name: run.of.sites[site] ?? `site ${site}`, first: row, count: 1 });
  });
  return list;
}

/// The kernel with the highest mean weight at a site.
export function favourite(weights: ClientWeights, first: number, count: number): { kernel: string; weight: number } {
  const mean = (k: number) => weights.last.slice(first, first + count).reduce((sum, row) => sum + (row[k] as number), 0) * WEIGHT_UNIT / count;
  return weights.kernels.map((kernel, k) => ({ kernel, weight: mean(k) })).reduce((a, b) => (b.weight > a.weight ? b : a));
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

interface Shape { width: number; left: number; cell: number; row: number; most: number; height: number }

function shapeOf(weights: ClientWeights, width: number): Shape {
  const left = Math.min(150, Math.round(width / 4));
  const row = Math.max(4, Math.min(16, Math.floor(480 / weights.last.length)));
  const most = Math.max(1, ...weights.last.map((one) => Math.max(...one)));
  return { width, left, row, cell: (width - left) / weights.kernels.length, most, height: row * weights.last.length };
}

/// The whole drawing as SVG text; `color` fills the cells, more so the heavier the kernel.
function drawing(run: Run, weights: ClientWeights, shape: Shape, color: string, ink: string): string {
  let text = "";
  weights.last.forEach((line, r) => line.forEach((weight, k) => {
    if (weight === 0) return;
    const strength = Math.sqrt(weight / shape.most); // small differences count
    text += `<rect x="${(shape.left + k * shape.cell).toFixed(2)}" y="${TOP + r * shape.row}" width="${shape.cell.toFixed(2)}" height="${shape.row}" fill="${color}" fill-opacity="${strength.toFixed(3)}"/>`;
  }));
  for (const block of blocks(run, weights)) {
    const y = TOP + block.first * shape.row;
    text += `<path d="M0 ${y}H${shape.width}" stroke="${ink}" stroke-opacity="0.5"/>`;
    text += `<text x="${shape.left - 8}" y="${y + (block.count * shape.row) / 2 + 4}" text-anchor="end" fill="${ink}">${escapeXml(shorten(block.name, Math.floor(shape.left / 7)))}</text>`;
  }
  const longest = Math.max(...weights.kernels.map((kernel) => kernel.length)) * 7; // points
  const every = Math.ceil((weights.kernels.length * (longest + 12)) / (shape.width - shape.left));
  weights.kernels.forEach((kernel, k) => {
    const x = shape.left + (k + 0.5) * shape.cell;
    if (k % every !== 0 || x + longest / 2 > shape.width) return;
    text += `<text x="${x.toFixed(1)}" y="${TOP + shape.height + 18}" text-anchor="middle" fill="${ink}">${escapeXml(kernel)}</text>`;
  });
  return text;
}

export function heatMap(run: Run, weights: ClientWeights, ...controls: HTMLElement[]): HTMLElement {
  const title = "Kernel weights of all clients";
  const shape = shapeOf(weights, Math.max(300, Math.min(PAPER, document.documentElement.clientWidth - 50)));
  const name = freshId();
  const parts = blocks(run, weights);
  const liked = parts.map((block) => ({ block, ...favourite(weights, block.first, block.count) }));
  const many = parts.length > 1;
  const words = liked.slice(0, 8).map((one) => `${many ? `${one.block.name}: ` : ""}${one.kernel} (${short(one.weight, 3)})`).join("; ");
  const shown = weights.last.length < run.clients ? `${weights.last.length} of ${run.clients} clients` : `${run.clients} clients`;
  const summary = `${run.label}, after the last step: ${shown}${many ? ", ordered by site" : ""}. The stronger the colour, the heavier. Heaviest on average${many ? " at " : ": "}${words}${liked.length > 8 ? "; .." : ""}.`;
  const at = el("p", { class: "at", role: "status", "data-hint": "Point at a cell, or use the arrow keys, to see its weight." });
  const height = TOP + shape.height + 28;
  const map = svg("svg", { viewBox: `0 0 ${shape.width} ${height}`, class: "heat", role: "img", tabindex: 0, "aria-label": `${title}. ${summary} Arrow keys show values.` });
  // Made of numbers and escaped names alone.
  const parsed = new DOMParser().parseFromString(`<svg xmlns="http://www.w3.org/2000/svg">${drawing(run, weights, shape, "var(--c0)", "currentColor")}</svg>`, "image/svg+xml");
  map.append(...parsed.documentElement.childNodes);
  const frameAt = svg("rect", { width: shape.cell, height: shape.row, fill: "none", stroke: "currentColor", "stroke-width": 1.5, visibility: "hidden" });
  map.append(frameAt);
  let [row, kernel] = [-1, -1];
  const show = (r: number, k: number) => {
    const inside = r >= 0 && k >= 0 && r < weights.last.length && k < weights.kernels.length;
    frameAt.setAttribute("visibility", inside ? "visible" : "hidden");
    at.textContent = "";
    if (!inside) return;
    [row, kernel] = [r, k];
    frameAt.setAttribute("x", String(shape.left + k * shape.cell));
    frameAt.setAttribute("y", String(TOP + r * shape.row));
    at.textContent = `client ${weights.clients[r]}${atSite(run.of, weights.sites[r])}, ${weights.kernels[k]}: ${short(((weights.last[r] as number[])[k] as number) * WEIGHT_UNIT, 3)}`;
  };
  map.addEventListener("pointermove", (event) => {
    const box = map.getBoundingClientRect();
    const scale = shape.width / box.width;
    show(Math.floor(((event.clientY - box.top) * scale - TOP) / shape.row), Math.floor(((event.clientX - box.left) * scale - shape.left) / shape.cell));
  });
  map.addEventListener("pointerleave", () => show(-1, -1));
  map.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const clamp = (value: number, most: number) => Math.min(most - 1, Math.max(0, value));
    show(clamp(row + (move[0] as number), weights.last.length), clamp(kernel + (move[1] as number), weights.kernels.length));
  });
  const paper = shapeOf(weights, PAPER);
  const picture = () => frame(PAPER + 20, height + 36, `${title}: ${run.label}`, `<g transform="translate(10 36)">${drawing(run, weights, paper, lineColor(0, true), "#333")}</g>`);
  return el("figure", { class: "card", role: "group", "aria-labelledby": name },
    el("figcaption", {}, el("h3", { id: name }, title), saveButtons(title, "weights-of-clients", picture)),
    el("p", { class: "summary" }, summary), el("div", { class: "controls" }, ...controls), map, at);
}
