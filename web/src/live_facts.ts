// How the federation is, in numbers.
import { el } from "./dom";
import { bytes, count, percent, short } from "./format";
import type { State } from "./live_state";

/// Seconds as people say them.
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds < 10 ? short(seconds, 2) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/// A certificate's end, in UTC.
export function end(time: number | null): string {
  return time === null ? "–" : new Date(1000 * time).toISOString().slice(0, 16).replace("T", " ");
}

interface Fact { name: string; value: string; more: string }

function budget({ server }: State): Fact {
  const noise = server.noise;
  if (noise === null) return { name: "Privacy budget", value: "none", more: "no noise is added" };
  return {
    name: "Privacy budget", value: `${short(noise.epsilon_spent, 3)} of ${short(noise.epsilon, 3)}`,
    more: `epsilon spent, at delta ${short(noise.delta, 2)}; ${count(noise.releases_left, "release")} left`,
  };
}

function versions({ server, clients }: State): Fact {
  const known = clients.versions.map((one) => `${one.version === "" ? "unknown" : one.version} (${one.clients})`);
  return { name: "Versions", value: server.version, more: known.length === 0 ? "no agent is connected" : `agents: ${known.join(", ")}` };
}

function facts(state: State): Fact[] {
  const { server, clients } = state;
  const counts = clients.counts;
  const rejected = Object.values(server.updates.rejected).reduce((sum, one) => sum + one, 0);
  const reports = server.reports;
  const silent = counts.silent > 0 ? `${counts.silent} silent, ` : "";
  return [
    { name: "Step", value: String(server.step), more: server.mean_step_seconds === null ? "none since the server began" : `${duration(server.mean_step_seconds)} each, on average` },
    { name: "Clients connected", value: `${server.clients.connected} of ${server.clients.enrolled}`, more: `${silent}${counts.away} away, ${counts.gone} gone` },
    { name: "Answers to the open step", value: `${server.answered}`, more: `${server.needed} needed` },
    { name: "Error reported", value: reports === null ? "–" : short(reports.mse), more: reports === null ? "no agent runs with --report" : `mean square, scaled labels; ${count(reports.clients, "client")}` },
    { name: "Skill", value: reports?.skill == null ? "–" : percent(reports.skill), more: "of a naive guess's error is removed" },
    budget(state),
    { name: "Updates", value: String(server.updates.accepted), more: `${server.updates.late} late, ${rejected} rejected` },
    { name: "Received, sent", value: `${bytes(server.bytes.in)}, ${bytes(server.bytes.out)}`, more: `in ${duration(server.uptime_seconds)}` },
    { name: "Certificates expire", value: end(server.certificates.server_ends).slice(0, 10), more: `the server's; the first client's: ${end(server.certificates.first_client_ends)}` },
    versions(state),
  ];
}

/// Tiles that keep their place; `update` changes their words.
export function factTiles(state: State): { element: HTMLElement; update: (state: State) => void } {
  const tiles = facts(state).map((fact) => ({ value: el("dd", { class: "big" }), more: el("dd", { class: "summary" }), name: fact.name }));
  const update = (now: State) => facts(now).forEach((fact, i) => {
    (tiles[i] as (typeof tiles)[number]).value.textContent = fact.value;
    (tiles[i] as (typeof tiles)[number]).more.textContent = fact.more;
  });
  update(state);
  return { element: el("dl", { class: "tiles" }, ...tiles.map((tile) => el("div", { class: "card" }, el("dt", {}, tile.name), tile.value, tile.more))), update };
}
