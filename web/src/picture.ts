// A chart as a picture of its own, in SVG: on white, whatever the screen looks like.
import { type ChartSpec, extent, type Series } from "./chart_spec";
import { tick } from "./format";
import { padded, ticks, transform } from "./scale";
import { dash, diamond, fillOpacity, isDiamond, lineColor } from "./theme";

export function escapeXml(text: string): string {
  // Control characters have no place in XML.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/// A picture of this size; `body` is SVG.
export function frame(width: number, height: number, title: string, body: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
    ` font-family="system-ui, sans-serif" font-size="12" fill="#333"><title>${escapeXml(title)}</title>` +
    `<rect width="100%" height="100%" fill="#fff"/>` +
    `<text x="16" y="24" font-size="15" font-weight="600" fill="#111">${escapeXml(title)}</text>${body}</svg>\n`;
}

const WIDTH = 760;
const PLOT = { left: 72, top: 44, width: 664, height: 320 };

/// How a mark is filled and outlined.
function ink(one: Series): string {
  const color = lineColor(one.color, true);
  return `fill="${color}" fill-opacity="${one.points ? fillOpacity(one.dash) : 1}" stroke="${color}" stroke-width="2"`;
}

function point(one: Series, x: number, y: number, name: string): string {
  if (one.points && isDiamond(one.dash)) return `<path d="${diamond(x, y, 4)}" ${ink(one)}>${name}</path>`;
  return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${one.points ? 4 : 2}" ${ink(one)}>${name}</circle>`;
}

function mark(one: Series, points: [number, number][][]): string {
  const color = lineColor(one.color, true);
  const name = `<title>${escapeXml(one.name)}</title>`;
  const path = points.map((part) => part.map(([x, y], i) => `${i === 0 ? "M" : one.stepped ? `H${x.toFixed(1)}L` : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("")).join("");
  const gaps = dash(one.dash) === "" ? "" : ` stroke-dasharray="${dash(one.dash)}"`;
  const lines = one.points ? "" : `<path d="${path}" fill="none" stroke="${color}" stroke-width="1.75"${gaps}>${name}</path>`;
  const circles = !one.points && !one.both && path !== "" && points.some((part) => part.length > 1) ? "" : points.flat()
    .map(([x, y]) => point(one, x, y, name)).join("");
  return lines + circles;
}

export function chartPicture(spec: ChartSpec): string {
  const range = (side: "x" | "y") => {
    const kind = side === "x" ? spec.xScale : spec.yScale;
    const own = extent(spec, side);
    const [min, max] = side === "x" && kind === "linear" && !spec.series.some((one) => one.points) && own[0] < own[1] ? own : padded(kind, ...own);
    const [from, to] = [transform(kind, min), transform(kind, max)];
    return { numbers: ticks(kind, min, max, side === "x" ? 8 : 7), at: (value: number) => (transform(kind, value) - from) / (to - from) };
  };
  const [xs, ys] = [range("x"), range("y")];
  const x = (value: number) => PLOT.left + PLOT.width * xs.at(value);
  const y = (value: number) => PLOT.top + PLOT.height * (1 - ys.at(value));
  const bottom = PLOT.top + PLOT.height;
  let body = "";
  for (const value of xs.numbers) {
    body += `<path d="M${x(value).toFixed(1)} ${PLOT.top}V${bottom}" stroke="#e3e6ea"/><text x="${x(value).toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${tick(value)}</text>`;
  }
  for (const value of ys.numbers) {
    body += `<path d="M${PLOT.left} ${y(value).toFixed(1)}H${PLOT.left + PLOT.width}" stroke="#e3e6ea"/><text x="${PLOT.left - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${tick(value)}</text>`;
  }
  body += `<text x="${PLOT.left + PLOT.width / 2}" y="${bottom + 38}" text-anchor="middle">${escapeXml(spec.xLabel)}</text>`;
  body += `<text transform="translate(18 ${PLOT.top + PLOT.height / 2}) rotate(-90)" text-anchor="middle">${escapeXml(spec.yLabel)}</text>`;
  const shown = spec.series.filter((one) => !one.hidden);
  for (const one of shown) {
    const parts: [number, number][][] = [[]];
    one.x.forEach((value, i) => {
      const height = one.y[i];
      const drawn = height !== null && height !== undefined && Number.isFinite(height) && !(spec.yScale === "log" && height <= 0);
      if (drawn) (parts[parts.length - 1] as [number, number][]).push([x(value), y(height)]);
      else if ((parts[parts.length - 1] as [number, number][]).length > 0) parts.push([]);
    });
    body += `<g class="series">${mark(one, parts)}</g>`;
  }
  shown.forEach((one, i) => {
    const [left, top] = [PLOT.left + (i % 3) * 230, bottom + 62 + Math.floor(i / 3) * 20];
    const color = lineColor(one.color, true);
    body += one.points ? point(one, left + 13, top, "")
      : `<path d="M${left - 10} ${top}h36" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash(one.dash) || "none"}"/>`;
    body += `<text x="${left + 34}" y="${top + 4}">${escapeXml(one.name)}</text>`;
  });
  return frame(WIDTH, bottom + 70 + Math.ceil(shown.length / 3) * 20, spec.title, body);
}
