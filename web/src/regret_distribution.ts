// How regret differs from client to client.
import { chartFigure } from "./chart";
import { short } from "./format";
import { mainRuns } from "./labels";
import { type Group, REGRET_OF } from "./model";
import { runLines } from "./ranking";

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
  const worst = runs.map((run) => ({ run, most: (run.client_regret as number[]).at(-1) as number })).reduce((a, b) => (b.most < a.most ? b : a));
  const lines = runLines(runs, (run) => shares(run.client_regret as number[]), worst.run);
  return chartFigure({
    title: "Regret from client to client", file: "regret-of-clients", xLabel: "regret of a client at the end", yLabel: "share of clients with at most this",
    xScale: "asinh", yScale: "linear", ...lines,
    summary: `Regret, ${REGRET_OF}. A steep line: clients do about equally well. The unluckiest client has the least regret with ${worst.run.label} (${short(worst.most)}).`,
  });
}
