// A running federation: the page that polykern serve --web shows. It asks the server every other second.
import { el } from "./dom";
import { count } from "./format";
import { historyCharts } from "./live_charts";
import { clientsTable } from "./live_clients";
import { factTiles } from "./live_facts";
import { fetchState, type State } from "./live_state";
import { startTheme } from "./theme";

const PERIOD = 2000; // milliseconds between questions

const main = document.getElementById("federation") as HTMLElement;
const health = el("p", { class: "health", role: "status" });
const headline = el("h2");
const alarm = el("p", { role: "alert", hidden: true });
let update: ((state: State) => void) | null = null;

/// Changes text only where it is another one, so that it is not read aloud again.
function say(place: HTMLElement, text: string): void {
  if (place.textContent !== text) place.textContent = text;
}

function warn(text: string): void {
  say(alarm, text);
  alarm.hidden = text === "";
}

function show(state: State): void {
  const { server } = state;
  document.title = `polykern: step ${server.step}`;
  say(headline, `${server.algorithm} ${server.finished ? "has finished after" : "is at"} step ${server.step}, with ${server.clients.connected} of ${count(server.clients.enrolled, "client")} connected`);
  say(health, server.healthy ? "Healthy" : "Not healthy");
  health.className = `health ${server.healthy ? "good" : "poor"}`;
  warn(server.healthy ? "" : server.trouble);
  if (update === null) {
    const [facts, charts, clients] = [factTiles(state), historyCharts(), clientsTable(state)];
    main.append(facts.element, charts.element, clients.element);
    update = (now) => {
      facts.update(now);
      charts.update(now);
      clients.update(now);
    };
  }
  update(state);
}

async function ask(): Promise<void> {
  try {
    show(await fetchState());
  } catch (error) {
    say(health, "Not known");
    health.className = "health fair";
    warn(`The values shown may be old: ${error instanceof Error ? error.message : String(error)}.`);
  }
  setTimeout(() => void ask(), document.hidden ? 5 * PERIOD : PERIOD);
}

startTheme();
main.replaceChildren(el("header", {}, el("h1", {}, "polykern federation"), health), el("section", { class: "answer" }, headline), alarm);
void ask();
