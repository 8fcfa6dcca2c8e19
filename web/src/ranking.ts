// Which runs did best, and which a chart shows at first.
import type { ChartSpec, Series } from "./chart_spec";
import type { Run } from "./model";

/// The best run, and the best one of another algorithm.
export function winner(runs: Run[]): { best: Run; next: Run | undefined } | null {
  const ranked = runs.filter((run) => !run.diverged).sort((a, b) => a.mse - b.mse);
  const best = ranked[0];
  return best === undefined ? null : { best, next: ranked.find((run) => run.algorithm !== best.algorithm) ?? ranked[1] };
}

/// The best run whose clients send nothing.
export function bestAlone(runs: Run[]): Run | undefined {
  return winner(runs.filter((run) => run.uplink_numbers === 0))?.best;
}

/// Ranks those that the answer names first, the others by their error; those that diverged come last.
export function rankRuns(runs: Run[]): void {
  const found = winner(runs);
  const named = new Set([found?.best, found?.next, bestAlone(runs)]);
  const place = (run: Run) => (named.has(run) ? -1 : run.diverged ? Infinity : run.mse);
  [...runs].sort((a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0)).forEach((run, i) => { run.rank = i; });
}

/// No more than this many lines at first; the others wait in the legend.
const MOST_AT_FIRST = 12;

/// A line for each run, the best of them shown and the one that the summary names, and a hint where others are hidden.
export function runLines(runs: Run[], points: (run: Run) => Pick<Series, "x" | "y">, named?: Run): Pick<ChartSpec, "series" | "hint"> {
  const place = (run: Run) => (run === named ? -1 : run.rank);
  const first = new Set([...runs].sort((a, b) => place(a) - place(b)).slice(0, MOST_AT_FIRST));
  return {
    series: runs.map((run) => ({ name: run.label, ...points(run), color: run.color, dash: run.dash, hidden: !first.has(run) })),
    hint: runs.length > first.size ? `${first.size} of ${runs.length} are shown at first: those named above and the lowest errors. Click a name to show others.` : undefined,
  };
}
