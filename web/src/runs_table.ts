// The table of algorithms.
import { bytes, short, spread } from "./format";
import { type Group, numbersUp, REGRET_OF, type Run } from "./model";
import { type Column, table } from "./table";

const finished = (value: (run: Run) => number | null) => (run: Run) => (run.diverged ? null : value(run));

const COLUMNS: Column<Run>[] = [
  { name: "Algorithm", csv: "run", value: (run) => run.label, more: { algorithm: (run) => run.algorithm } },
  { name: "M", help: "Kernels a client sends per step", csv: "kernels_per_upload", value: (run) => run.kernels_per_upload },
  { name: "D", help: "Features per kernel", csv: "features", value: (run) => run.features },
  {
    name: "MSE", help: "Mean squared error over clients and steps, and its standard deviation over the feature draws",
    csv: "mse", value: finished((run) => run.mse), more: { mse_std: finished((run) => run.mse_std) },
    text: (run) => (run.diverged ? `diverged at step ${run.diverged.step}` : spread(run.mse, run.mse_std)),
  },
  {
    name: "Skill", help: "Share of the error of the better naive predictor (a client's last label, the mean of its labels) that is removed; below 0 it is worse",
    csv: "skill", value: (run) => run.skill, text: (run) => short(run.skill, 3),
    more: { r2: (run) => run.r2, rmse: (run) => run.rmse, last_label_mse: (run) => run.last_label_mse, running_mean_mse: (run) => run.running_mean_mse },
  },
  {
    name: "Regret", help: `Regret, ${REGRET_OF}, at the end: mean over the clients, and standard deviation over them`,
    csv: "regret_mean", value: finished((run) => run.regret_mean), more: { regret_std: finished((run) => run.regret_std) },
    text: (run) => (run.diverged ? "–" : spread(run.regret_mean, run.regret_std)),
  },
  { name: "Bound", help: "Bound of the regret, by Theorem 2 of the POF-MKL paper (NeurIPS 2022)", csv: "regret_bound", value: (run) => run.regret_bound, text: (run) => short(run.regret_bound) },
  {
    name: "Numbers up", help: "Numbers a client sent per step: the mean, and the most in one step where that is more", csv: "uplink_numbers_mean",
    value: numbersUp, more: { uplink_numbers: (run) => run.uplink_numbers },
    text: (run) => { const mean = numbersUp(run).toFixed(0); return mean === `${run.uplink_numbers}` ? mean : `${mean} (${run.uplink_numbers})`; },
  },
  { name: "Up", help: "Bytes from a client per step, mean", csv: "uplink_bytes", value: (run) => run.uplink_bytes, text: (run) => bytes(run.uplink_bytes) },
  { name: "Down", help: "Bytes to a client per step, mean", csv: "downlink_bytes", value: (run) => run.downlink_bytes, text: (run) => bytes(run.downlink_bytes) },
  {
    name: "µs/sample", help: "Processor time per client and step", csv: "microseconds_per_sample", value: (run) => run.microseconds_per_sample,
    more: { seconds: (run) => run.seconds }, text: (run) => short(run.microseconds_per_sample),
  },
];

/// The yardsticks, which are the same for all runs on the same samples.
function naive(group: Group): string {
  const run = group.runs.find((one) => one.last_label_mse !== null);
  if (run === undefined) return "";
  return `Without learning: a client's last label has an MSE of ${short(run.last_label_mse)}, the mean of its labels so far ${short(run.running_mean_mse)}. `;
}

/// What stands after ±.
function spreads(group: Group): string {
  const finished = group.runs.filter((run) => !run.diverged);
  const parts = [
    finished.some((run) => run.mse_std > 0) ? "of the MSE over the feature draws" : "",
    finished.some((run) => (run.regret_std ?? 0) > 0) ? "of the regret over the clients" : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `± is the standard deviation ${parts.join(", and ")}. `;
}

export function runsTable(group: Group): HTMLElement {
  const several = group.sources.length > 1;
  const from: Column<Run> = { name: "Result", csv: "result", value: (run) => run.source };
  const columns = several ? [COLUMNS[0] as Column<Run>, from, ...COLUMNS.slice(1)] : COLUMNS;
  return table("Algorithms", "algorithms", columns, group.runs, `${naive(group)}${spreads(group)}Press a column's name to sort by it.`);
}
