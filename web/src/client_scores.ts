// How each client fared, for a run that the reader chooses.
import { choice, el } from "./dom";
import { count, short } from "./format";
import type { ClientScores, Group, Run } from "./model";
import { winner } from "./ranking";
import { type Column, table } from "./table";

interface Line {
  name: string;
  site: string | null;
  mse: number | null;
  skill: number | null;
  coverage: number | null;
}

function lines(run: Run, scores: ClientScores): Line[] {
  return scores.names.map((name, i) => ({
    name,
    site: run.of.sites[scores.sites?.[i] ?? -1] ?? null,
    mse: scores.mse[i] ?? null,
    skill: scores.skill[i] ?? null,
    coverage: scores.coverage?.[i] ?? null,
  }));
}

/// Where nine of ten clients lie, of sorted numbers.
export function mostOf(sorted: number[]): [number, number] {
  const at = (part: number) => sorted[Math.round(part * (sorted.length - 1))] as number;
  return [at(0.05), at(0.95)];
}

function words(run: Run, rows: Line[]): string {
  const shown = rows.length < run.clients ? `${rows.length} of ${run.clients} clients, evenly from all.` : `${count(rows.length, "client")}.`;
  const known = rows.filter((row) => row.skill !== null);
  const worse = known.filter((row) => (row.skill as number) < 0).length;
  const skill = known.length === 0 ? "" : ` ${worse} of ${known.length} would do better with their last label or the mean of their labels (skill below 0).`;
  const covered = run.client_coverage ?? [];
  const [low, high] = mostOf(covered);
  const coverage = covered.length < 2 ? "" : ` Nine in ten clients have ${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} % of their labels within their intervals.`;
  return `${run.label}: ${shown}${skill}${coverage} Press a column's name to sort by it.`;
}

function scoresTable(run: Run, controls: HTMLElement[]): HTMLElement {
  const rows = lines(run, run.client_scores as ClientScores);
  const columns: Column<Line>[] = [
    { name: "Client", csv: "client", value: (row) => row.name },
    { name: "Site", csv: "site", value: (row) => row.site },
    { name: "MSE", help: "Mean squared error over the client's steps", csv: "mse", value: (row) => row.mse, text: (row) => short(row.mse) },
    { name: "Skill", help: "Share of the error of the client's better naive predictor that is removed; below 0 it is worse", csv: "skill", value: (row) => row.skill, text: (row) => short(row.skill, 3) },
    { name: "Coverage", help: "Share of the client's labels within their interval", csv: "coverage", value: (row) => row.coverage, text: (row) => short(row.coverage, 3) },
  ];
  const absent = new Set<string>();
  if (run.of.sites.length < 2 || rows.every((row) => row.site === null)) absent.add("Site");
  if (rows.every((row) => row.coverage === null)) absent.add("Coverage");
  const shown = columns.filter((column) => !absent.has(column.name));
  return table("Clients", "clients", shown, rows, words(run, rows), [], controls);
}

export function clientScores(group: Group): HTMLElement | null {
  const runs = group.runs.filter((run) => run.client_scores !== null);
  if (runs.length === 0) return null;
  const place = el("div");
  const draw = (chosen: number) => {
    const control = runs.length > 1 ? [choice("Run", runs.map((run) => run.label), chosen, draw)] : [];
    place.replaceChildren(scoresTable(runs[chosen] as Run, control));
  };
  draw(Math.max(0, runs.indexOf(winner(runs)?.best as Run)));
  return place;
}
