// Which part of the labels is within its interval, over time.
import type { ChartSpec } from "./chart_spec";
import { chartOfMeans, running } from "./curves";
import { percent } from "./format";
import { mainRuns } from "./labels";
import type { Group, Run } from "./model";
import { runLines } from "./ranking";
import { GREY } from "./theme";

/// What was asked for; NaN: nothing.
function wished(run: Run): number {
  return Number(run.options["coverage"] ?? NaN);
}

function coverageSpec(runs: Run[], window: number): ChartSpec {
  const far = (run: Run) => Math.abs((run.coverage as number) - wished(run));
  const finished = runs.filter((run) => run.coverage !== null);
  const worst = finished.reduce<Run | undefined>((a, b) => (a === undefined || far(b) > far(a) ? b : a), undefined);
  const { series, hint } = runLines(runs, (run) => ({ x: run.curves.step, y: running(run.curves.step, run.curves.coverage ?? [], window) }), worst);
  for (const [i, wish] of [...new Set(runs.map(wished).filter(Number.isFinite))].entries()) {
    const steps = runs.flatMap((run) => (wished(run) === wish ? run.curves.step : []));
    series.push({ name: `asked for: ${percent(wish)}`, x: [Math.min(...steps), Math.max(...steps)], y: [wish, wish], color: GREY, dash: i + 1 });
  }
  const words = worst === undefined ? "" : ` Over all steps ${finished.length > 1 ? `${worst.label} is farthest off: ` : ""}${percent(worst.coverage as number)} of the labels.`;
  return {
    title: "Coverage over time", file: "coverage-over-time", xLabel: "step", yLabel: "share of the labels within their interval",
    xScale: "linear", yScale: "linear", series, hint, summary: `Mean over clients and feature draws.${words}`,
  };
}

export function coverageChart(group: Group): HTMLElement | null {
  const runs = mainRuns(group.runs).filter((run) => run.curves.coverage?.some((part) => part !== null));
  return runs.length === 0 ? null : chartOfMeans(runs, coverageSpec);
}
