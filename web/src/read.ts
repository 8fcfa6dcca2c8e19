// From the text in the page to groups of runs. The program checked every field before it wrote the page;
// what somebody changed since gives an error that names the field, never an empty page.
import { labelRuns } from "./labels";
import type { Comparison, Data, Group, Run, Source } from "./model";

type Fields = Record<string, unknown>;

function need(object: unknown, path: string, fields: Record<string, string>): Fields {
  if (typeof object !== "object" || object === null) throw new Error(`'${path}' must be an object`);
  const found = object as Fields;
  for (const [field, kinds] of Object.entries(fields)) {
    const value = found[field];
    const kind = value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
    if (value === undefined) throw new Error(`'${path}.${field}' is missing`);
    if (!kinds.split(" ").includes(kind)) throw new Error(`'${path}.${field}' must be: ${kinds.replaceAll(" ", " or ")}`);
  }
  return found;
}

const RUN = {
  algorithm: "string", kernels_per_upload: "number null", features: "number null", clients: "number", steps: "number", repetitions: "number", mse: "number null", mse_std: "number null",
  regret_mean: "number null", regret_std: "number null", regret_bound: "number null", uplink_numbers: "number",
  uplink_bytes: "number", seconds: "number", microseconds_per_sample: "number", options: "object", curves: "object",
  client_regret: "list null", client_weights: "object null",
};
const DATA = { name: "string", target: "string", clients: "number", steps: "number", sites: "list" };

function groupOf(groups: Map<string, Group>, data: Data, source: Source): Group {
  const key = JSON.stringify([data.name, data.target]);
  const group = groups.get(key) ?? { name: data.name, data: [], sources: [], runs: [], paper: [] };
  groups.set(key, group);
  if (!group.sources.includes(source)) {
    group.sources.push(source);
    group.data.push(data);
  }
  return group;
}

export function readGroups(text: string): Group[] {
  const results: unknown = JSON.parse(text);
  if (!Array.isArray(results) || results.length === 0) throw new Error("there is no result in this page");
  const groups = new Map<string, Group>();
  results.forEach((entry, r) => {
    const at = `results[${r}]`;
    const { name, result } = need(entry, at, { name: "string", result: "object" });
    const fields = need(result, `${at}.result`, { polykern: "string", command: "string", data: "object list", runs: "list" });
    const source: Source = { name: name as string, version: fields.polykern as string, command: fields.command as string };
    const data = (Array.isArray(fields.data) ? fields.data : [fields.data]).map((one, i) => need(one, `${at}.data[${i}]`, DATA) as Data);
    (fields.runs as unknown[]).forEach((one, i) => {
      const path = `${at}.runs[${i}]`;
      const run = need(one, path, RUN) as unknown as Run & { data?: string };
      need(run.options, `${path}.options`, { exploration: "number", budget: "number", weights: "string" });
      need(run.curves, `${path}.curves`, { step: "list", mse: "list", regret: "list" });
      const own = run.data === undefined ? data[0] : data.find((d) => d.name === run.data);
      if (own === undefined) throw new Error(`'${path}.data' names no data set of this result`);
      run.of = own;
      run.source = source.name;
      groupOf(groups, own, source).runs.push(run);
    });
    for (const comparison of (fields.reproduction ?? []) as Comparison[]) {
      for (const group of groups.values()) {
        if (group.sources.includes(source) && group.name === comparison.data) group.paper.push(comparison);
      }
    }
  });
  const list = [...groups.values()];
  for (const group of list) labelRuns(group.runs);
  return list;
}
