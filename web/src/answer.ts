// The question, and the answer in a sentence or two.
import { el } from "./dom";
import { bytes, count, percent, short, spread } from "./format";
import { type Data, type Group, numbersUp, type Run } from "./model";
import { bestAlone, winner } from "./ranking";

function question(group: Group): string {
  const data = group.data[0] as Data;
  const sites = data.sites.length > 1 ? ` at ${count(data.sites.length, "site")}` : "";
  const what = data.target === "" ? "best" : `${data.target} best`;
  const budgets = [...new Set(group.runs.map((run) => run.options.budget))];
  const budget = budgets.length === 1 ? `at most ${budgets[0]} numbers` : "only so many numbers";
  return `Which algorithm predicts ${what} on ${data.name}, when ${count(data.clients, "client")}${sites} learn together over ${count(data.steps, "step")} and each may send ${budget} a step?`;
}

function uplink(run: Run): string {
  return numbersUp(run) === 0 ? "sending nothing" : `sending ${count(Math.round(numbersUp(run)), "number")} (${bytes(run.uplink_bytes)}) per client and step`;
}

/// What stands after ±.
function meaning(run: Run): string {
  return run.mse_std === 0 ? "" : ` (standard deviation over ${count(run.repetitions, "feature draw")})`;
}

export function answer(group: Group): HTMLElement {
  const found = winner(group.runs);
  const lines: (Node | string)[][] = [];
  if (found === null) {
    lines.push(["None: every run diverged."]);
  } else {
    const { best, next } = found;
    lines.push([el("strong", {}, best.label), ` has the lowest mean squared error, ${spread(best.mse, best.mse_std)}${meaning(best)}, ${uplink(best)}.`]);
    if (next !== undefined) {
      const clear = next.mse - best.mse > Math.hypot(best.mse_std, next.mse_std);
      lines.push([`That is ${percent(1 - best.mse / next.mse)} below the next, ${next.label} (${short(next.mse)}, ${uplink(next)})`,
        Math.min(best.repetitions, next.repetitions) < 2 ? ", in a single feature draw: how much of it is chance is not known." : clear ? ", which is more than the spread over the feature draws." : "; the difference is smaller than the spread over the feature draws, so it is not conclusive."]);
    }
    const alone = bestAlone(group.runs);
    if (alone !== undefined && alone !== best && alone !== next) {
      lines.push([`Clients that learn alone reach ${short(alone.mse)} (${alone.label}), ${short(alone.mse / best.mse, 3)} times as much.`]);
    }
  }
  const lost = group.runs.filter((run) => run.diverged);
  if (lost.length > 0) lines.push([`Diverged: ${lost.map((run) => run.label).join("; ")}.`]);
  return el("section", { class: "answer" },
    el("h2", {}, question(group)), ...lines.map((line) => el("p", {}, ...line)));
}
