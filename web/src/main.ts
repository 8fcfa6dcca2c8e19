// The page: groups of runs, one shown at a time.
import { answer } from "./answer";
import { clientScores } from "./client_scores";
import { coverageChart } from "./coverage";
import { errorChart, regretChart } from "./curves";
import { el } from "./dom";
import type { Group } from "./model";
import { paperTables } from "./paper";
import { privacyCharts } from "./privacy";
import { readGroups } from "./read";
import { regretDistribution } from "./regret_distribution";
import { runsTable } from "./runs_table";
import { settings } from "./settings";
import { sweepCharts } from "./sweep";
import { startTheme } from "./theme";
import { tradeOffChart } from "./trade_off";
import { weightSections } from "./weights";

function sections(group: Group): (HTMLElement | null)[] {
  return [
    answer(group),
    ...paperTables(group),
    runsTable(group),
    errorChart(group),
    coverageChart(group),
    regretChart(group),
    tradeOffChart(group),
    clientScores(group),
    weightSections(group),
    regretDistribution(group),
    ...privacyCharts(group),
    ...sweepCharts(group),
    settings(group),
  ];
}

function nameOf(group: Group, groups: Group[]): string {
  const same = groups.filter((other) => other.name === group.name).length > 1;
  return same ? `${group.name}: ${group.data[0]?.target ?? ""}` : group.name;
}

function render(groups: Group[]): HTMLElement[] {
  const place = el("div");
  const buttons = groups.map((group) => el("button", { type: "button", click: () => show(group) }, nameOf(group, groups)));
  const show = (group: Group) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(groups[i] === group)));
    place.replaceChildren(...sections(group).filter((part): part is HTMLElement => part !== null));
  };
  const header = el("header", {}, el("h1", {}, "polykern report"),
    groups.length > 1 ? el("nav", { "aria-label": "Data sets" }, ...buttons) : null);
  show(groups[0] as Group);
  return [header, place];
}

const main = document.getElementById("report") as HTMLElement;
try {
  const groups = readGroups(document.getElementById("results")?.textContent ?? "");
  document.title = `polykern: ${groups.map((group) => group.name).join(", ")}`;
  startTheme();
  main.replaceChildren(...render(groups));
} catch (error) {
  main.replaceChildren(el("h1", {}, "polykern report"),
    el("p", { role: "alert" }, `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}. Make it again with polykern report.`));
}
