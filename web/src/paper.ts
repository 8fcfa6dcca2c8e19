// The paper's tables: published and measured side by side.
import { el } from "./dom";
import { short, spread } from "./format";
import type { Comparison, Group } from "./model";
import { type Column, table } from "./table";

const TITLES: Record<string, string> = {
  table1: "Table 1: mean squared error and run time of a client",
  table3: "Table 3: mean squared error and its spread over the feature draws",
  table4: "Table 4: regret and its spread over the clients",
};

/// Within 3 %, within 20 %, or further away.
function colour(deviation: number): string {
  const size = Math.abs(deviation);
  return size <= 0.03 ? "good" : size <= 0.2 ? "fair" : "poor";
}

function signed(part: number): string {
  return `${part < 0 ? "\u2212" : "+"}${Math.abs(100 * part).toFixed(1)} %`;
}

function columns(name: string, notes: string[]): Column<Comparison>[] {
  const what = name === "table4" ? "regret" : "MSE x 1e-3";
  const list: Column<Comparison>[] = [
    { name: "Algorithm", csv: "algorithm", value: (c) => c.row },
    { name: "M", csv: "kernels_per_upload", value: (c) => c.kernels_per_upload },
    { name: "Weights", csv: "weights", value: (c) => c.weights },
    {
      name: `Published ${what}`, csv: "published", value: (c) => c.published, more: { published_std: (c) => c.published_std },
      text: (c) => (c.published_std === null ? short(c.published) : spread(c.published, c.published_std)),
    },
    { name: "Measured", csv: "measured", value: (c) => c.measured, more: { measured_std: (c) => c.measured_std }, text: (c) => spread(c.measured, c.measured_std) },
    { name: "Deviation", csv: "deviation", value: (c) => c.deviation, text: (c) => signed(c.deviation), mark: (c) => colour(c.deviation) },
    {
      name: "Reproduced", csv: "reproduced", value: (c) => (c.reproduced ? "yes" : "no"), more: { note: (c) => c.note },
      text: (c) => (c.reproduced ? "yes" : `no (${notes.indexOf(c.note) + 1})`),
    },
  ];
  if (name === "table1") {
    list.push({ name: "Published s", csv: "published_seconds", value: (c) => c.published_seconds ?? null },
      { name: "Measured s", csv: "seconds", value: (c) => c.seconds ?? null, text: (c) => short(c.seconds, 3) });
  } else if (name === "table4") {
    list.push({ name: "Published T x MSE", csv: "published_steps_x_mse", value: (c) => c.published_steps_x_mse ?? null, text: (c) => short(c.published_steps_x_mse) },
      { name: "Measured T x MSE", csv: "steps_x_mse", value: (c) => c.steps_x_mse ?? null, text: (c) => short(c.steps_x_mse) });
  }
  return list;
}

export function paperTables(group: Group): (HTMLElement | null)[] {
  if (group.paper.length === 0) return [];
  const names = [...new Set(group.paper.map((c) => c.table))];
  const good = group.paper.filter((c) => c.reproduced).length;
  const lead = el("p", {}, `Of ${group.paper.length} published figures, ${good} were reproduced (within 3 %). Green: within 3 %; yellow: within 20 %; red: further away.`);
  return [lead, ...names.map((name) => {
    const rows = group.paper.filter((c) => c.table === name);
    const notes = [...new Set(rows.filter((c) => !c.reproduced).map((c) => c.note))];
    return table(`${TITLES[name] ?? name}, ${group.name}`, `${name}-${group.name}`, columns(name, notes), rows, "", notes);
  })];
}
