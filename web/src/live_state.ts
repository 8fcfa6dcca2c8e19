// What a federation's server says of itself: /state (net/server/web_server, net/server/server_view, net/server/control).

export interface Server {
  healthy: boolean;
  trouble: string;
  version: string;
  uptime_seconds: number;
  algorithm: string;
  step: number;
  finished: boolean;
  clients: { enrolled: number; connected: number; gone: number };
  certificates: { server_ends: number | null; first_client_ends: number | null };
  answered: number;
  needed: number;
  updates: { accepted: number; used_late: number; late: number; duplicate: number; rejected: Record<string, number> };
  refused: number;
  noise: { epsilon: number; delta: number; epsilon_spent: number; epsilon_left: number; releases: number; releases_left: number } | null;
  helper: { connected: boolean; answered_seconds: number | null } | null;
  mean_step_seconds: number | null;
  bytes: { in: number; out: number };
  reports: { clients: number; mse: number; regret: number; skill: number | null } | null;
}

export interface Client {
  name: string;
  number: number;
  label: string;
  connected: boolean;
  silent: boolean;
  gone: boolean;
  forgotten: boolean;
  next_step: number;
  expires: number | null;
  version: string;
  mse: number | null;
  skill: number | null;
}

export interface History {
  minutes: number[];
  step: number[];
  connected: number[];
  mse: (number | null)[];
  skill: (number | null)[];
  epsilon: (number | null)[];
}

export interface State {
  server: Server;
  clients: {
    counts: { silent: number; connected: number; away: number; gone: number };
    versions: { version: string; clients: number }[];
    shown: Client[];
  };
  history: History;
}

/// Throws an Error in a few words.
export async function fetchState(): Promise<State> {
  let answer: Response;
  try {
    answer = await fetch("state", { cache: "no-store", credentials: "same-origin" });
  } catch {
    throw new Error("the server does not answer");
  }
  if (answer.status === 401 || answer.status === 403) throw new Error("the certificate or token is no longer valid");
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return (await answer.json()) as State;
}
