// A chart on the screen: uPlot, a legend whose entries hide and show lines, and values under the pointer or the arrow keys.
import uPlot from "uplot";
import { type ChartSpec, extent, nearest, type Series } from "./chart_spec";
import { el, freshId, svg } from "./dom";
import { short, tick } from "./format";
import { chartPicture } from "./picture";
import { saveButtons } from "./save";
import { ASINH_UNIT, type Kind, padded, ticks } from "./scale";
import { dash, diamond, fillOpacity, isDiamond, lineColor, styleColor, watchTheme } from "./theme";

function axis(spec: ChartSpec, side: "x" | "y", kind: Kind): uPlot.Axis {
  const room = side === "x" ? 90 : 42; // pixels for each number
  return {
    label: side === "x" ? spec.xLabel : spec.yLabel,
    labelSize: 22,
    size: side === "x" ? 34 : 58,
    gap: 4,
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    stroke: () => styleColor("--quiet"),
    grid: { stroke: () => styleColor("--grid"), width: 1 },
    ticks: { show: false },
    splits: (u, _, min, max) => ticks(kind, min, max, Math.max(2, Math.floor((side === "x" ? u.width : u.height) / room))),
    filter: (_, splits) => splits, // all of them, on logarithmic axes too
    values: (_, splits) => splits.map(tick),
  };
}

function scale(spec: ChartSpec, side: "x" | "y", kind: Kind): uPlot.Scale {
  return {
    time: false,
    distr: kind === "log" ? 3 : kind === "asinh" ? 4 : 1,
    asinh: ASINH_UNIT,
    range: () => side === "x" && kind === "linear" && !spec.series.some((one) => one.points)
      ? extent(spec, "x") : padded(kind, ...extent(spec, side)),
  };
}

function inside(one: Series): string {
  const opacity = one.points ? fillOpacity(one.dash) : 1;
  return lineColor(one.color) + Math.round(255 * opacity).toString(16).padStart(2, "0");
}

/// Marks on the canvas, where uPlot draws circles.
function diamonds(u: uPlot, i: number, from: number, to: number): { stroke: Path2D; fill: Path2D } {
  const path = new Path2D();
  for (let at = from; at <= to; ++at) {
    const y = u.data[i]?.[at];
    if (y == null) continue;
    path.addPath(new Path2D(diamond(u.valToPos(u.data[0][at] as number, "x", true), u.valToPos(y, "y", true), 4 * devicePixelRatio)));
  }
  return { stroke: path, fill: path };
}

function line(one: Series): uPlot.Series {
  const gaps = dash(one.dash);
  return {
    label: one.name,
    show: !one.hidden,
    stroke: () => lineColor(one.color),
    width: one.points ? 0 : 1.75,
    dash: gaps === "" || one.points ? [] : gaps.split(" ").map(Number),
    paths: one.points ? () => null : one.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined,
    points: { show: Boolean(one.points || one.both), ...(one.points && isDiamond(one.dash) ? { paths: diamonds } : {}), size: one.points ? 10 : 6, width: 2, stroke: () => lineColor(one.color), fill: () => inside(one) },
  } as uPlot.Series;
}

function swatch(one: Series): SVGElement {
  const color = `var(--c${one.color})`;
  const mark = { fill: color, "fill-opacity": fillOpacity(one.dash), stroke: color, "stroke-width": 1.6 };
  return svg("svg", { width: 38, height: 10, "aria-hidden": "true" },
    one.points ? isDiamond(one.dash) ? svg("path", { d: diamond(19, 5, 3.4), ...mark }) : svg("circle", { cx: 19, cy: 5, r: 3.8, ...mark })
      : svg("path", { d: "M1 5H37", stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash(one.dash) }));
}

/// The chart as a figure with its name, summary, legend and buttons.
export function chartFigure(spec: ChartSpec, ...controls: HTMLElement[]): HTMLElement {
  return liveChart(spec, ...controls).figure;
}

/// The same; `update` shows what has become of the specification's points and summary.
export function liveChart(spec: ChartSpec, ...controls: HTMLElement[]): { figure: HTMLElement; update: () => void } {
  const name = freshId();
  const plot = el("div", { class: "plot", role: "img", tabindex: 0 });
  const summary = el("p", { class: "summary" });
  const describe = () => {
    summary.textContent = spec.summary;
    plot.setAttribute("aria-label", `${spec.title}. ${spec.summary} Arrow keys show values.`);
  };
  describe();
  const at = el("p", { class: "at", role: "status", "data-hint": spec.hint ?? "Click a name to hide or show it." });
  const values = spec.series.map(() => el("span", { class: "value" }));
  let chart: uPlot | null = null;

  const show = (x: number | null) => {
    at.textContent = x === null ? "" : `${spec.xLabel}: ${tick(x)}`;
    spec.series.forEach((one, i) => {
      const index = x === null || one.hidden ? -1 : nearest(one, x);
      (values[i] as HTMLElement).textContent = index < 0 || (one.points && one.x[index] !== x) ? "" : short(one.y[index]);
    });
  };
  const buttons = spec.series.map((one, i) => {
    const button = el("button", { type: "button", "aria-pressed": String(!one.hidden), click: () => set(i, Boolean(one.hidden)) },
      swatch(one), el("span", {}, one.name), values[i] as HTMLElement);
    return button;
  });
  const set = (i: number, shown: boolean) => {
    (spec.series[i] as Series).hidden = !shown;
    (buttons[i] as HTMLElement).setAttribute("aria-pressed", String(shown));
    chart?.setSeries(i + 1, { show: shown });
  };
  const all = (shown: boolean) => el("button", { type: "button", class: "plain", click: () => spec.series.forEach((_, i) => set(i, shown)) }, shown ? "Show all" : "Hide all");

  const points = () => uPlot.join(spec.series.map((one) => [one.x, one.y] as uPlot.AlignedData));
  const draw = () => {
    chart?.destroy();
    const width = plot.clientWidth || 640;
    chart = new uPlot({
      width, height: width < 500 ? 260 : 340,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: scale(spec, "x", spec.xScale), y: scale(spec, "y", spec.yScale) },
      axes: [axis(spec, "x", spec.xScale), axis(spec, "y", spec.yScale)],
      series: [{}, ...spec.series.map(line)],
      hooks: { setCursor: [(u) => show(u.cursor.idx == null ? null : (u.data[0][u.cursor.idx] ?? null))] },
    }, points(), plot);
  };
  plot.addEventListener("keydown", (event) => {
    if (chart === null || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    const xs = chart.data[0];
    const from = chart.cursor.idx ?? (event.key === "ArrowRight" ? -1 : xs.length);
    const to = Math.min(xs.length - 1, Math.max(0, from + (event.key === "ArrowRight" ? 1 : -1)));
    chart.setCursor({ left: chart.valToPos(xs[to] as number, "x"), top: 10 });
    event.preventDefault();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (!plot.isConnected) return forget();
    if (plot.clientWidth !== width) { width = plot.clientWidth; draw(); }
  }).observe(plot);
  const forget = watchTheme(() => { if (plot.isConnected) draw(); });

  const figure = el("figure", { class: "card", role: "group", "aria-labelledby": name },
    el("figcaption", {}, el("h3", { id: name }, spec.title), saveButtons(spec.title, spec.file, () => chartPicture(spec))),
    summary,
    controls.length > 0 ? el("div", { class: "controls" }, ...controls) : null,
    plot,
    el("div", { class: "head below" }, at, spec.series.length > 6 ? el("p", { class: "tools" }, all(true), all(false)) : null),
    el("ul", { class: "legend", "aria-label": `Lines of: ${spec.title}` }, ...buttons.map((button) => el("li", {}, button))));
  return { figure, update: () => { describe(); chart?.setData(points()); } };
}
