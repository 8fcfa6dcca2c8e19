// What the page works with: the runs of all results, put into groups that can be compared.
// The fields of result.json are declared in the program (src/polykern/results/result_fields.cc), and their types, "result", are
// made of its schema (tests/report/types.test.mjs).
import type { ClientScores, ClientWeights, Comparison, Curves, Data, Options, Run as RunFields } from "result";

export type { ClientScores, ClientWeights, Comparison, Curves, Data, Options };

/// Where regret is defined.
export const REGRET_OF = "equation (14) of the POF-MKL paper (NeurIPS 2022)";

/// Weights are whole numbers here, in this unit.
export const WEIGHT_UNIT = 1e-4;

export interface Run extends Omit<RunFields, "data"> {
  // Added by the page:
  source: string; // the result it is from
  of: Data;
  label: string; // tells it from the others of its group
  color: number; // by algorithm
  dash: number; // tells it from the others of its colour
  rank: number; // 0 is shown first
}

/// Numbers per client and step; of results of older programs the most in one step is known alone.
export function numbersUp(run: Run): number {
  return run.uplink_numbers_mean ?? run.uplink_numbers;
}

/// " at NAME" of a site; nothing if there is but one.
export function atSite(data: Data, site: number | undefined): string {
  const name = data.sites[site ?? -1];
  return data.sites.length < 2 || name === undefined ? "" : ` at ${name}`;
}

export interface Source {
  name: string;
  version: string;
  command: string;
}

/// Runs on the same data set.
export interface Group {
  name: string;
  data: Data[]; // one of each source
  sources: Source[];
  runs: Run[];
  paper: Comparison[];
}
