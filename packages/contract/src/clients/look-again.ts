import type { Request } from "./lost-write.ts";

type Params = Readonly<Record<string, string>>;
/** The commands that show whether a request was done, by a part of its path. The first that matches counts. */
type Looks = readonly (readonly [part: string, look: (params: Params) => string])[];

const uriOf = ({ org, db }: Params) => `cloud://${org}:${db}`;

const HOSTED: Looks = [
  ["/:db/secrets", (params) => `cli secret list ${uriOf(params)}`],
  ["/secrets", ({ org }) => `cli secret list ${org}`],
  ["/keys", ({ org }) => `cli key list -l --org ${org}`],
  ["/:db/media", ({ org, db }) => `cli media ls -r mediafs://${org}:${db}/home`],
  ["/:db/jobs", (params) => `cli jobs list ${uriOf(params)} --all`],
  ["/:db/recompute", (params) => `cli jobs list ${uriOf(params)} --all`],
  ["/:db/changes", (params) => `cli history ${uriOf(params)}`],
  ["/:db/schema", (params) => `cli history ${uriOf(params)}`],
  ["/:db/services", (params) => `cli service list ${uriOf(params)}`],
  ["/databases/:db", ({ org, db }) => `cli operations list --org ${org} --database ${db}`],
  ["/operations/:id", ({ id }) => `cli operations show ${id}`],
  ["/v1/orgs/:org", ({ org }) => `cli events --org ${org}`],
  ["/v1/orgs", () => "cli org list"],
];

const LOCAL: Looks = [
  ["/v1/media/:db", ({ db }) => `cli media ls -r mediafs://${db}/home`],
  ["/:db/changes", ({ db }) => `cli history ${db}`],
  ["/v1/services", () => "cli service list"],
  ["/v1/schema", () => "cli ls"],
  ["/v1/jobs", () => "cli jobs list"],
  ["/v1/recompute", () => "cli jobs list"],
  ["/v1/databases", () => "cli db list --local"],
];

/** The next step after a lost response of the control plane. */
export function lookHosted(route: Request, params: Params): string {
  const command = find(HOSTED, route, params) ?? "cli whoami";
  // The response had the only copy of the secret.
  if (route.method === "POST" && /\/keys(\/|$)/.test(route.path))
    return `Look for the key: ${command}. If it is there, give it a secret that you can read: cli key rotate`;
  return `Look before you try again: ${command}`;
}

/** The next step after a lost response of the daemon. */
export function lookLocal(route: Request, params: Params): string {
  return `Look before you try again: ${find(LOCAL, route, params) ?? "cli daemon status"}`;
}

function find(looks: Looks, { path }: Request, params: Params): string | undefined {
  return looks.find(([part]) => path.includes(part))?.[1](params);
}
