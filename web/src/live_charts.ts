// How it went since the server began.
import { liveChart } from "./chart";
import type { ChartSpec, Series } from "./chart_spec";
import { el } from "./dom";
import { percent, short } from "./format";
import { look } from "./theme";
import type { History, State } from "./live_state";

interface Kind {
  title: string;
  file: string;
  yLabel: string;
  yScale: "linear" | "log";
  name: string;
  values: (history: History) => (number | null)[];
  summary: (last: number) => string;
}

const KINDS: Kind[] = [
  { title: "Error reported", file: "error-reported", yLabel: "mean squared error", yScale: "log", name: "error", values: (h) => h.mse, summary: (last) => `Mean over all predictions of the clients that report, scaled labels: ${short(last)} now.` },
  { title: "Skill", file: "skill", yLabel: "skill", yScale: "linear", name: "skill", values: (h) => h.skill, summary: (last) => `Share of the better naive guess's error that is removed: ${percent(last)} now.` },
  { title: "Clients connected", file: "clients-connected", yLabel: "clients", yScale: "linear", name: "clients", values: (h) => h.connected, summary: (last) => `${last} now.` },
  { title: "Steps", file: "steps", yLabel: "step", yScale: "linear", name: "step", values: (h) => h.step, summary: (last) => `At step ${last} now.` },
  { title: "Epsilon spent", file: "epsilon-spent", yLabel: "epsilon", yScale: "linear", name: "epsilon", values: (h) => h.epsilon, summary: (last) => `${short(last, 3)} of the privacy budget is spent.` },
];

function lastOf(values: (number | null)[]): number | null {
  return values.reduce((last, value) => value ?? last, null);
}

/// Charts of whatever has points; `update` adds those that have got their first.
export function historyCharts(): { element: HTMLElement; update: (state: State) => void } {
  const element = el("div", { class: "charts" });
  const shown = new Map<Kind, { spec: ChartSpec; update: () => void }>();
  const update = ({ history }: State) => {
    for (const [i, kind] of KINDS.entries()) {
      const last = lastOf(kind.values(history));
      if (last === null || history.minutes.length < 2) continue;
      const line: Series = { name: kind.name, x: history.minutes, y: kind.values(history), ...look(i) };
      const chart = shown.get(kind);
      if (chart !== undefined) {
        Object.assign(chart.spec.series[0] as Series, { x: line.x, y: line.y });
        chart.spec.summary = kind.summary(last);
        chart.update();
        continue;
      }
      const spec: ChartSpec = { ...kind, xLabel: "minutes since the server began", xScale: "linear", series: [line], summary: kind.summary(last) };
      const { figure, update: redraw } = liveChart(spec);
      shown.set(kind, { spec, update: redraw });
      element.append(figure);
    }
  };
  return { element, update };
}
