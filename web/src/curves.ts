// Error and regret over time.
import { chartFigure } from "./chart";
import type { ChartSpec, Series } from "./chart_spec";
import { choice, el } from "./dom";
import { count, short } from "./format";
import { mainRuns } from "./labels";
import { type Group, REGRET_OF, type Run } from "./model";
import { runLines } from "./ranking";
import { GREY } from "./theme";

const WINDOWS = [1, 5, 20, 50];

/// Means over the last `window` points, each as heavy as the steps it stands for; fewer at the start.
export function running(steps: number[], values: (number | null)[], window: number): (number | null)[] {
  const width = (i: number) => (steps[i] as number) - (steps[i - 1] ?? 0);
  return values.map((_, i) => {
    let [sum, weight] = [0, 0];
    for (let j = Math.max(0, i - window + 1); j <= i; ++j) {
      const value = values[j];
      if (value === null || value === undefined) continue;
      sum += width(j) * value;
      weight += width(j);
    }
    return weight > 0 ? sum / weight : null;
  });
}

function errorSpec(runs: Run[], window: number): ChartSpec {
  const means = new Map(runs.map((run) => [run, running(run.curves.step, run.curves.mse, window)]));
  const last = (run: Run) => means.get(run)?.at(-1) ?? Infinity;
  const finished = runs.filter((run) => !run.diverged);
  const best = finished.reduce<Run | undefined>((a, b) => (a === undefined || last(b) < last(a) ? b : a), undefined);
  const lines = runLines(runs, (run) => ({ x: run.curves.step, y: means.get(run) ?? [] }), best);
  return {
    title: "Error over time", file: "error-over-time", xLabel: "step", yLabel: "mean squared error", xScale: "linear", yScale: "log",
    ...lines, summary: `Mean over clients and feature draws.${best === undefined ? "" : ` Lowest at the end: ${best.label} (${short(last(best))}).`}`,
  };
}

/// A chart of means over as many steps as the reader chooses.
export function chartOfMeans(runs: Run[], specOf: (runs: Run[], window: number) => ChartSpec): HTMLElement {
  const steps = (runs[0] as Run).curves.step;
  const names = WINDOWS.map((window) => count(Math.round(window * ((steps[steps.length - 1] ?? 1) / steps.length)), "step"));
  const place = el("div");
  const hidden = new Map<string, boolean | undefined>();
  let spec: ChartSpec | null = null;
  const draw = (index: number) => {
    for (const one of spec?.series ?? []) hidden.set(one.name, one.hidden);
    spec = specOf(runs, WINDOWS[index] as number);
    for (const one of spec.series) if (hidden.has(one.name)) one.hidden = hidden.get(one.name);
    place.replaceChildren(chartFigure(spec, choice("Mean over the last", names, index, draw)));
  };
  draw(steps.length >= 100 ? 2 : 0);
  return place;
}

export function errorChart(group: Group): HTMLElement {
  const runs = mainRuns(group.runs).filter((run) => run.curves.step.length > 0);
  if (runs.length === 0) return el("p", {}, "No run finished its first step.");
  return chartOfMeans(runs, errorSpec);
}

/// Theorem 2 after t steps, over t: ln N / eta + eta t / 2. The result has it for all T steps.
function bound(run: Run, t: number): number {
  const rate = run.options.weight_rate ?? 1 / Math.sqrt(run.steps);
  return ((run.regret_bound as number) - (rate * (run.steps - t)) / 2) / t;
}

/// A line for all runs with the same bound; where there are several, each names its algorithms or, if that is not enough, its end.
function boundLines(runs: Run[]): Series[] {
  const bounds = new Map<string, Run[]>();
  for (const run of runs) {
    if (run.regret_bound === null) continue;
    const key = `${run.regret_bound} ${run.steps}`;
    bounds.set(key, [...(bounds.get(key) ?? []), run]);
  }
  const whose = [...bounds.values()].map((same) => [...new Set(same.map((run) => run.algorithm))].join(", "));
  return [...bounds.values()].map((same, i): Series => {
    const run = same[0] as Run;
    const end = new Set(whose).size < whose.length ? `: ${short(run.regret_bound)} / ${run.steps}` : "";
    return {
      name: `Theorem 2's bound${bounds.size > 1 ? ` (${whose[i]}${end})` : ""}`,
      x: run.curves.step, y: run.curves.step.map((t) => bound(run, t)), color: GREY, dash: i + 1,
    };
  });
}

export function regretChart(group: Group): HTMLElement | null {
  const runs = mainRuns(group.runs).filter((run) => run.regret_mean !== null && run.curves.step.length > 0);
  if (runs.length === 0) return null;
  const { series, hint } = runLines(runs, (run) => ({
    x: run.curves.step, y: run.curves.regret.map((r, i) => (r === null ? null : r / (run.curves.step[i] as number))),
  }));
  const bounds = boundLines(runs);
  const words = bounds.length > 0 ? " The paper's Theorem 2 keeps clients with losses in [0, 1] below the bound." : "";
  return chartFigure({
    title: group.paper.length > 0 ? "Figure 1: average regret" : "Average regret", file: "average-regret",
    xLabel: "step t", yLabel: "regret / t", xScale: "linear", yScale: "asinh", series: [...series, ...bounds], hint,
    summary: `Regret, ${REGRET_OF}, against each client's best kernel: mean over the clients, divided by t; below 0: better than the best kernel.${words}`,
  });
}
