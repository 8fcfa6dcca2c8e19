// What was run, exactly, and the command that runs it again.
import { el } from "./dom";
import type { Data, Group, Run, Source } from "./model";

function plain(value: unknown): string {
  if (value === null) return "the algorithm's own";
  if (Array.isArray(value)) return value.map(String).join(", ") || "none";
  if (typeof value === "object") return JSON.stringify(value);
  return value === "" ? "none" : String(value);
}

function list(entries: [string, string][]): HTMLElement {
  return el("dl", {}, ...entries.flatMap(([name, text]) => [el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, text)]));
}

/// Options that all runs share, and those that differ with every value they take.
function options(runs: Run[]): [string, string][] {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.options)))];
  return names.map((name) => [name, [...new Set(runs.map((run) => plain(run.options[name] ?? null)))].join(" or ")]);
}

function command(text: string): HTMLElement {
  const code = el("code", {}, text);
  const copy = el("button", {
    type: "button", class: "plain", "aria-label": "Copy the command",
    click: () => {
      getSelection()?.selectAllChildren(code); // seen, and copied by hand where the clipboard is closed
      navigator.clipboard?.writeText(text).then(() => { copy.textContent = "Copied"; }, () => undefined);
    },
  }, "Copy");
  return el("div", { class: "command" }, code, copy);
}

export function settings(group: Group): HTMLElement {
  const blocks = group.sources.map((source: Source, i) => {
    const data = group.data[i] as Data;
    const runs = group.runs.filter((run) => run.source === source.name);
    const single = runs.filter((run) => run.command !== undefined);
    return el("div", {},
      el("h4", {}, source.name), el("p", { class: "summary" }, `Made by polykern ${source.version} with`), command(source.command),
      el("details", {}, el("summary", {}, "Data"), list(Object.entries(data).map(([name, value]) => [name, plain(value)]))),
      el("details", {}, el("summary", {}, "Settings of the algorithms"), list(options(runs))),
      single.length === 0 ? null : el("details", {}, el("summary", {}, "Each run alone"),
        ...single.flatMap((run) => [el("p", { class: "summary" }, run.label), command(run.command as string)])));
  });
  return el("section", { class: "card", "aria-labelledby": "settings" }, el("h3", { id: "settings" }, "Settings, and how to make it again"), ...blocks);
}
