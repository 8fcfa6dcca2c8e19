// The clients, one on a line.
import { short } from "./format";
import { end } from "./live_facts";
import type { Client, State } from "./live_state";
import { type Column, liveTable } from "./table";

const SOON = 86_400; // seconds before a certificate's end

function stateOf(client: Client): string {
  if (client.forgotten) return "forgotten";
  if (client.gone) return "gone";
  if (!client.connected) return "away";
  return client.silent ? "silent" : "connected";
}

function endsSoon(client: Client): boolean {
  return client.expires !== null && client.expires - Date.now() / 1000 < SOON;
}

const COLUMNS: Column<Client>[] = [
  { name: "Client", value: (c) => c.name },
  { name: "State", help: "connected; silent: misses steps; away: not connected; gone: forgotten, or without a valid certificate", value: stateOf, mark: (c) => ({ connected: "good", silent: "fair", away: "poor" })[stateOf(c)] ?? "" },
  { name: "Next step", help: "The step after the last one that it answered", value: (c) => c.next_step },
  { name: "Error", help: "Mean squared error of scaled labels, if it reports it", value: (c) => c.mse, text: (c) => short(c.mse) },
  { name: "Skill", help: "1 minus its error divided by that of the better naive guess", value: (c) => c.skill, text: (c) => short(c.skill, 2) },
  { name: "Version", help: "Version of its agent", value: (c) => (c.version === "" ? null : c.version) },
  { name: "Certificate expires", help: "UTC", value: (c) => c.expires, text: (c) => end(c.expires), mark: (c) => (endsSoon(c) ? "fair" : "") },
  { name: "Label", help: "What its operator calls it: polykern client label", value: (c) => c.label },
];

export function clientsTable(state: State): { element: HTMLElement; update: (state: State) => void } {
  const all = state.server.clients.enrolled;
  const note = all > state.clients.shown.length ? `The first ${state.clients.shown.length} of ${all}; polykern client list has them all.` : "";
  const { element, update } = liveTable("Clients", "clients", COLUMNS, state.clients.shown, note);
  return { element, update: (now) => update(now.clients.shown) };
}
