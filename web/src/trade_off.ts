// Error against uplink, and who is best for what it sends.
import { chartFigure } from "./chart";
import type { Series } from "./chart_spec";
import { mainRuns } from "./labels";
import { type Group, numbersUp, type Run } from "./model";
import { GREY } from "./theme";

/// The runs that no other beats in both: fewer numbers up, and a lower error. By rising uplink.
export function paretoFront(runs: Run[]): Run[] {
  const front: Run[] = [];
  for (const run of [...runs].sort((a, b) => numbersUp(a) - numbersUp(b) || a.mse - b.mse)) {
    const last = front[front.length - 1];
    if (last === undefined || run.mse < last.mse) front.push(run);
  }
  return front;
}

export function tradeOffChart(group: Group): HTMLElement | null {
  const runs = mainRuns(group.runs).filter((run) => !run.diverged && run.mse > 0);
  if (runs.length < 2) return null;
  const front = paretoFront(runs);
  const line: Series = { name: "Pareto front", x: [], y: [], color: GREY, dash: 1, stepped: true };
  for (const run of front) { line.x.push(numbersUp(run)); line.y.push(run.mse); }
  const points = runs.map((run): Series => ({
    name: front.includes(run) ? `${run.label} ★` : run.label, x: [numbersUp(run)], y: [run.mse], color: run.color, dash: run.dash, points: true,
  }));
  return chartFigure({
    title: "Error against uplink", file: "error-against-uplink", xLabel: "numbers a client sends per step, on average", yLabel: "mean squared error",
    xScale: "linear", yScale: "log", series: [...points, line],
    summary: `On the Pareto front (★), no other has a lower error for as few numbers: ${front.map((run) => run.label).join("; ")}.`,
  });
}
