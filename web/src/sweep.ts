// What the exploration rate does: the runs that differ in xi alone.
import { chartFigure } from "./chart";
import type { Series } from "./chart_spec";
import { short } from "./format";
import { withoutExploration } from "./labels";
import type { Group, Run } from "./model";
import { look } from "./theme";

function sweeps(runs: Run[]): Run[][] {
  const families = new Map<string, Map<number, Run>>();
  for (const run of runs) {
    if (run.diverged) continue;
    const family = families.get(withoutExploration(run)) ?? new Map<number, Run>();
    families.set(withoutExploration(run), family.set(run.options.exploration, run));
  }
  return [...families.values()].filter((family) => family.size > 1)
    .map((family) => [...family.values()].sort((a, b) => a.options.exploration - b.options.exploration));
}

function nameOf(family: Run[]): string {
  const run = family[0] as Run;
  const kernels = run.kernels_per_upload === null ? "" : `, M = ${run.kernels_per_upload}`;
  return `${run.algorithm}${kernels}, ${run.options.weights}`;
}

function chart(group: Group, families: Run[][], what: string, file: string, value: (run: Run) => number | null): HTMLElement | null {
  const series = families.map((family, i): Series => ({
    name: nameOf(family), x: family.map((run) => run.options.exploration), y: family.map(value), ...look(i), both: true,
  })).filter((one) => one.y.some((y) => y !== null));
  if (series.length === 0) return null;
  const best = series.map((one) => {
    const at = one.y.reduce<number>((a, y, i) => ((y ?? Infinity) < (one.y[a] ?? Infinity) ? i : a), 0);
    return `${one.name}: xi = ${short(one.x[at], 2)}`;
  });
  const figure = group.paper.length > 0 && file === "regret-against-xi" ? "Figure 2: " : "";
  return chartFigure({
    title: `${figure}${figure === "" ? what : what.toLowerCase()} against the exploration rate`, file, xLabel: "exploration rate xi", yLabel: what.toLowerCase(),
    xScale: "linear", yScale: "linear", series, summary: `Lowest with ${best.join("; ")}.`,
  });
}

export function sweepCharts(group: Group): (HTMLElement | null)[] {
  const families = sweeps(group.runs);
  if (families.length === 0) return [];
  return [
    chart(group, families, "Regret", "regret-against-xi", (run) => run.regret_mean),
    chart(group, families, "Error", "error-against-xi", (run) => run.mse),
  ];
}
