// What a run is called: its algorithm, and the settings that tell it from the other runs. What its line looks like.
import type { Run } from "./model";
import { COLORS, DASHES } from "./theme";

/// An option by which runs can be told apart, and how it is called; "": its value says it.
export type Label = [option: string, label: string];

type Part = (run: Run) => string;

function option([name, label]: Label): Part {
  return (run) => {
    const value = run.options[name];
    return value === null || value === undefined ? "" : `${label} ${String(value)}`.trim();
  };
}

/// In the order in which they are tried.
function parts(labels: Label[]): Part[] {
  return [
    (run) => (run.kernels_per_upload === null ? "" : `M = ${run.kernels_per_upload}`),
    (run) => (run.features === null ? "" : `D = ${run.features}`),
    ...labels.map(option),
    (run) => `${run.clients} clients`,
    (run) => `${run.steps} steps`,
    (run) => `${run.repetitions} draws`,
    (run) => run.source,
  ];
}

/// Gives every run its label.
export function labelRuns(runs: Run[], labels: Label[]): void {
  const algorithms = [...new Set(runs.map((run) => run.algorithm))];
  for (const algorithm of algorithms) {
    const own = runs.filter((run) => run.algorithm === algorithm);
    for (const run of own) run.label = algorithm;
    for (const part of parts(labels)) {
      const told = new Set(own.map((run) => run.label)).size;
      if (told === own.length) break;
      if (new Set(own.map((run) => `${run.label}, ${part(run)}`)).size === told) continue; // tells no more apart
      for (const run of own) {
        const more = part(run);
        if (more !== "") run.label += `, ${more}`;
      }
    }
    const seen = new Map<string, number>();
    for (const run of own) {
      const times = (seen.get(run.label) ?? 0) + 1; // the same run given twice
      seen.set(run.label, times);
      if (times > 1) run.label += ` (${times})`;
    }
  }
}

/// Equal for runs that differ in the exploration rate alone.
export function withoutExploration(run: Run): string {
  const { exploration: _, ...others } = run.options;
  return JSON.stringify([run.algorithm, run.kernels_per_upload, run.features, run.clients, run.steps, run.of.name, others]);
}

/// The runs to draw: of a sweep over xi only the largest, since the sweep has a chart of its own.
export function mainRuns(runs: Run[]): Run[] {
  const largest = new Map<string, number>();
  for (const run of runs) {
    const key = withoutExploration(run);
    largest.set(key, Math.max(largest.get(key) ?? 0, run.options.exploration));
  }
  return runs.filter((run) => run.options.exploration === largest.get(withoutExploration(run)));
}

/// Gives every run that is drawn the colour of its algorithm and a dash that no other of that colour has; once there is none
/// left, another colour.
export function colorRuns(runs: Run[]): void {
  for (const run of runs) [run.color, run.dash] = [0, 0];
  const drawn = mainRuns(runs);
  const algorithms = [...new Set(drawn.map((run) => run.algorithm))];
  const used = new Array<number>(COLORS).fill(0);
  const take = (run: Run, color: number) => {
    [run.color, run.dash] = [color, used[color] as number];
    used[color] = run.dash + 1;
  };
  const rest = drawn.filter((run) => {
    const color = algorithms.indexOf(run.algorithm) % COLORS;
    if ((used[color] as number) >= DASHES) return true;
    take(run, color);
    return false;
  });
  for (const run of rest) take(run, used.indexOf(Math.min(...used)));
}
