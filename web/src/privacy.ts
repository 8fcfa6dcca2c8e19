// What noise costs: epsilon spent over time, and the error against epsilon.
import { chartFigure } from "./chart";
import type { Series } from "./chart_spec";
import { short } from "./format";
import { mainRuns } from "./labels";
import type { Group, Run } from "./model";
import { runLines } from "./ranking";
import { look } from "./theme";

function epsilonOf(run: Run): number {
  return Number(run.options["epsilon"] ?? NaN);
}

function overTime(group: Group): HTMLElement | null {
  const runs = mainRuns(group.runs).filter((run) => run.curves.epsilon !== undefined && run.curves.epsilon.length > 0);
  if (runs.length === 0) return null;
  const most = runs.reduce((a, b) => ((b.epsilon_spent ?? 0) > (a.epsilon_spent ?? 0) ? b : a));
  const lines = runLines(runs, (run) => ({ x: run.curves.step, y: run.curves.epsilon ?? [] }), most);
  return chartFigure({
    title: "Epsilon spent over time", file: "epsilon-over-time", xLabel: "step", yLabel: "epsilon spent", xScale: "linear", yScale: "linear", ...lines,
    summary: `By a row that is in the first noisy sum, mean over feature draws; at most ${short(most.epsilon_spent ?? 0, 3)} of ${short(epsilonOf(most), 3)} (${most.label}).`,
  });
}

/// Runs that differ in epsilon alone.
function families(runs: Run[]): Run[][] {
  const all = new Map<string, Map<number, Run>>();
  for (const run of runs) {
    if (run.diverged || !Number.isFinite(epsilonOf(run))) continue;
    const { epsilon: _, ...others } = run.options;
    const key = JSON.stringify([run.algorithm, run.features, run.clients, run.steps, run.of.name, others]);
    const family = all.get(key) ?? new Map<number, Run>();
    all.set(key, family.set(epsilonOf(run), run));
  }
  return [...all.values()].filter((family) => family.size > 1).map((family) => [...family.values()].sort((a, b) => epsilonOf(a) - epsilonOf(b)));
}

function againstEpsilon(group: Group): HTMLElement | null {
  const series = families(group.runs).map((family, i): Series => ({
    name: (family[0] as Run).algorithm, x: family.map(epsilonOf), y: family.map((run) => run.mse), ...look(i), both: true,
  }));
  if (series.length === 0) return null;
  const words = series.map((one) => one.x.map((x, i) => `${short(one.y[i] ?? 0, 3)} at epsilon ${short(x, 3)}`).join(", "));
  return chartFigure({
    title: "Error against epsilon", file: "error-against-epsilon", xLabel: "epsilon", yLabel: "mean squared error", xScale: "log", yScale: "linear", series,
    summary: `${words.join("; ")}.`,
  });
}

export function privacyCharts(group: Group): (HTMLElement | null)[] {
  return [overTime(group), againstEpsilon(group)];
}
