// How regret differs from client to client.
import { chartFigure } from "./chart";
import { hideMany, type Series } from "./chart_spec";
import { short } from "./format";
import { mainRuns } from "./labels";
import type { Group } from "./model";

/// Sorted numbers as the share of clients up to each; of equal ones the last.
export function shares(sorted: number[]): { x: number[]; y: number[] } {
  const [x, y]: [number[], number[]] = [[], []];
  sorted.forEach((value, i) => {
    if (value === sorted[i + 1]) return;
    x.push(value);
    y.push((i + 1) / sorted.length);
  });
  return { x, y };
}

export function regretDistribution(group: Group): HTMLElement | null {
  const runs = mainRuns(group.runs).filter((run) => (run.client_regret?.length ?? 0) > 1);
  if (runs.length === 0) return null;
  const series = hideMany(runs.map((run): Series => ({ name: run.label, ...shares(run.client_regret as number[]), color: run.color, dash: run.dash })));
  const worst = runs.map((run) => ({ run, most: (run.client_regret as number[]).at(-1) as number })).reduce((a, b) => (b.most < a.most ? b : a));
  return chartFigure({
    title: "Regret from client to client", file: "regret-of-clients", xLabel: "regret (14) of a client at the end", yLabel: "share of clients with at most this",
    xScale: "asinh", yScale: "linear", series,
    summary: `A steep line: clients do about equally well. The unluckiest client has the least regret with ${worst.run.label} (${short(worst.most)}).`,
  });
}
