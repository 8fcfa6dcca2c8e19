// How a client's weights of its kernels change, for a run and a client that the reader chooses.
import { chartFigure } from "./chart";
import type { Series } from "./chart_spec";
import { choice, el } from "./dom";
import { short } from "./format";
import { heatMap } from "./heat_map";
import { mainRuns } from "./labels";
import { atSite, type ClientWeights, type Group, type Run, WEIGHT_UNIT } from "./model";
import { winner } from "./ranking";
import { GREY, look } from "./theme";

const MOST_KERNELS = 8;

function nameOf(run: Run, weights: ClientWeights, client: number): string {
  return `${client}${atSite(run.of, weights.sites[weights.clients.indexOf(client)])}`;
}

function overTime(run: Run, weights: ClientWeights, t: number, controls: HTMLElement[]): HTMLElement {
  const of = (kernel: number) => weights.trace.map((step) => ((step[t] as number[])[kernel] as number) * WEIGHT_UNIT);
  const ranked = weights.kernels.map((name, k) => ({ name, y: of(k) })).map((one) => ({ ...one, most: Math.max(...one.y) }))
    .sort((a, b) => b.most - a.most);
  const series = ranked.slice(0, MOST_KERNELS).map((one, i): Series => ({ name: one.name, x: weights.steps, y: one.y, ...look(i) }));
  const rest = ranked.slice(MOST_KERNELS);
  if (rest.length > 0) {
    series.push({ name: `the other ${rest.length} together`, x: weights.steps, y: weights.steps.map((_, i) => rest.reduce((sum, one) => sum + (one.y[i] as number), 0)), color: GREY, dash: 1, hidden: true });
  }
  const last = series.slice(0, MOST_KERNELS).reduce((a, b) => ((b.y.at(-1) as number) > (a.y.at(-1) as number) ? b : a));
  const client = weights.traced[t] as number;
  return chartFigure({
    title: "Kernel weights over time", file: "kernel-weights", xLabel: "step", yLabel: "weight", xScale: "linear", yScale: "linear", series,
    summary: `Client ${nameOf(run, weights, client)} of ${run.label}, mean over the feature draws; its ${Math.min(MOST_KERNELS, ranked.length)} heaviest kernels. In the end it trusts ${last.name} most (${short(last.y.at(-1), 3)}).`,
  }, ...controls);
}

export function weightSections(group: Group): HTMLElement | null {
  const runs = mainRuns(group.runs).filter((run) => run.client_weights !== null);
  if (runs.length === 0) return null;
  const place = el("div");
  let chosen = Math.max(0, runs.indexOf(winner(runs)?.best as Run));
  const draw = (t: number) => {
    const run = runs[chosen] as Run;
    const weights = run.client_weights as ClientWeights;
    const ofRun = () => choice("Run", runs.map((one) => one.label), chosen, (i) => { chosen = i; draw(0); });
    const clients = weights.traced.map((client) => nameOf(run, weights, client));
    place.replaceChildren(overTime(run, weights, t, [ofRun(), choice("Client", clients, t, draw)]), heatMap(run, weights, ofRun()));
  };
  draw(0);
  return place;
}
