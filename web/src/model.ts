// What the page works with: the runs of all results, put into groups that can be compared.

export interface Data {
  name: string;
  target: string;
  clients: number;
  steps: number;
  dimension: number;
  sites: string[];
  [field: string]: unknown;
}

export interface Curves {
  step: number[];
  mse: (number | null)[];
  regret: (number | null)[];
}

/// Whole numbers: weights in units of 1e-4.
export interface ClientWeights {
  kernels: string[];
  clients: number[];
  sites: number[];
  last: number[][]; // clients x kernels
  traced: number[];
  steps: number[];
  trace: number[][][]; // steps x traced x kernels
}
export const WEIGHT_UNIT = 1e-4;

export interface Run {
  algorithm: string;
  kernels_per_upload: number | null;
  features: number | null;
  clients: number;
  steps: number;
  repetitions: number;
  mse: number;
  mse_std: number;
  regret_mean: number | null;
  regret_std: number | null;
  regret_bound: number | null;
  uplink_numbers: number;
  uplink_bytes: number;
  downlink_bytes: number;
  seconds: number;
  microseconds_per_sample: number;
  options: Record<string, unknown> & { exploration: number; budget: number; weights: string; weight_rate: number | null };
  curves: Curves;
  client_regret: number[] | null;
  client_weights: ClientWeights | null;
  diverged?: { repetition: number; step: number; reason: string };
  command?: string; // of reproductions: what makes this run alone

  // Added by the page:
  source: string; // the result it is from
  of: Data;
  label: string; // tells it from the others of its group
  color: number; // by algorithm
  dash: number; // by the setting of the algorithm
}

/// " at NAME" of a site; nothing if there is but one.
export function atSite(data: Data, site: number | undefined): string {
  const name = data.sites[site ?? -1];
  return data.sites.length < 2 || name === undefined ? "" : ` at ${name}`;
}

/// A line of one of the paper's tables.
export interface Comparison {
  table: string;
  row: string;
  kernels_per_upload: number | null;
  data: string;
  weights: string;
  published: number;
  published_std: number | null;
  measured: number;
  measured_std: number;
  deviation: number;
  reproduced: boolean;
  note: string;
  published_seconds?: number;
  seconds?: number;
  published_steps_x_mse?: number;
  steps_x_mse?: number;
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
