import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_EVENTS, DATABASE_TRANSITIONS } from "@appdb/contract/control/database-states";
import { SERVICE_EVENTS, SERVICE_TRANSITIONS } from "@appdb/contract/control/service-states";
import { ERRORS } from "@appdb/contract/errors";
import { PERMISSIONS, type Permission, ROLES, roleHas } from "@appdb/contract/permissions";
import { DATABASE_STATES } from "@appdb/contract/routes/control-databases";
import { CONTROL_ROUTES, type ControlRouteName, controlRoute } from "@appdb/contract/routes/control-paths";
import { SERVICE_STATES } from "@appdb/contract/routes/control-services";
import { limitVariable } from "@appdb/contract/service-limits";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { SERVER_SETTINGS, type ServerSetting } from "../../apps/server/src/config/config.ts";
import { functionTables, type LibraryFunction } from "./function-tables.ts";
import { ROOT } from "./paths.mjs";

/** Events that the service detects; users request the others. */
const SEEN_OF_DATABASES = ["ready", "build_failed", "start_failed", "stopped", "lost"];
const SEEN_OF_SERVICES = ["ready", "start_failed", "stopped", "lost", "woken"];

/** Tables generated from code, by their name in a page: `<!-- table: database-requests -->`. */
export function pageTables(functions: readonly LibraryFunction[]): Readonly<Record<string, () => string[]>> {
  return {
    errors: errorTables,
    "database-requests": () =>
      transitions(DATABASE_TRANSITIONS, requestsOf(DATABASE_EVENTS, SEEN_OF_DATABASES), (event) =>
        event.replace("_", "-"),
      ),
    "database-events": () => transitions(DATABASE_TRANSITIONS, SEEN_OF_DATABASES),
    "database-event-meanings": () => meanings(DATABASE_EVENTS, SEEN_OF_DATABASES),
    "service-requests": () => transitions(SERVICE_TRANSITIONS, requestsOf(SERVICE_EVENTS, SEEN_OF_SERVICES)),
    "service-events": () => transitions(SERVICE_TRANSITIONS, SEEN_OF_SERVICES),
    "service-event-meanings": () => meanings(SERVICE_EVENTS, SEEN_OF_SERVICES),
    permissions: permissionTable,
    "route-permissions": routeTable,
    ...functionTables(functions),
  };
}

/** Tables written by hand: the items of their first column, and generated cells by column heading. */
export const ROWS: Readonly<
  Record<string, { names: readonly string[]; cells?: (name: string) => Readonly<Record<string, string | undefined>> }>
> = {
  "database-states": { names: DATABASE_STATES },
  "service-states": { names: SERVICE_STATES },
  settings: {
    names: Object.keys(SERVER_SETTINGS),
    cells: (name) => ({ default: settingDefault(name as ServerSetting) }),
  },
  "service-limits": {
    names: Object.keys(DEFAULT_LIMITS),
    cells: (name) => limitCells(name as keyof typeof DEFAULT_LIMITS),
  },
};

/** Comments of the catalogue become headings: `// rows and functions` starts a group. */
function errorTables(): string[] {
  const source = readFileSync(join(ROOT, "packages/contract/src/errors.ts"), "utf8");
  const body = source.slice(source.indexOf("export const ERRORS"), source.indexOf("} as const satisfies"));
  const lines: string[] = [];
  for (const line of body.split("\n")) {
    const heading = /^ {2}\/\/ (.+)$/.exec(line)?.[1];
    if (heading !== undefined) {
      lines.push(
        "",
        `## ${heading[0]?.toUpperCase()}${heading.slice(1)}`,
        "",
        "| code | status | meaning |",
        "|---|---|---|",
      );
    }
    const code = /^ {2}(\w+): \{/.exec(line)?.[1] as keyof typeof ERRORS | undefined;
    if (code !== undefined && code in ERRORS)
      lines.push(`| \`${code}\` | ${ERRORS[code].status} | ${ERRORS[code].title} |`);
  }
  return lines.slice(1);
}

function requestsOf(events: Readonly<Record<string, string>>, seen: readonly string[]): string[] {
  return Object.keys(events).filter((event) => !seen.includes(event));
}

/** The state after each event. An empty cell means that the event is refused. */
function transitions(
  table: Readonly<Record<string, Readonly<Record<string, string>>>>,
  events: readonly string[],
  heading = (event: string) => event,
): string[] {
  return [
    `| state | ${events.map((event) => `\`${heading(event)}\``).join(" | ")} |`,
    `|---|${events.map(() => "---").join("|")}|`,
    ...Object.entries(table).map(([state, next]) => {
      const cells = events.map((event) => (next[event] === "refuse" ? "" : next[event]));
      return `| \`${state}\` | ${cells.join(" | ")} |`;
    }),
  ];
}

function meanings(events: Readonly<Record<string, string>>, seen: readonly string[]): string[] {
  return seen.map((event) => `- \`${event}\`: ${events[event]}.`);
}

function permissionTable(): string[] {
  return [
    `| may | ${ROLES.join(" | ")} | permission |`,
    `|---|${ROLES.map(() => "---").join("|")}|---|`,
    ...(Object.keys(PERMISSIONS) as Permission[]).map((permission) => {
      const cells = ROLES.map((role) => (roleHas(role, permission) ? "yes" : ""));
      return `| ${PERMISSIONS[permission].what} | ${cells.join(" | ")} | \`${permission}\` |`;
    }),
  ];
}

function routeTable(): string[] {
  const routes = (Object.keys(CONTROL_ROUTES) as ControlRouteName[]).map(controlRoute);
  const rows = routes.map(({ by_access: byAccess, by_grant: byGrant, method, path, permission, summary }) => {
    const grants = [...(byGrant === true ? [" or `manage`"] : []), ...(byAccess === true ? [" or `access`"] : [])];
    return `| \`${method} ${path}\` | ${summary} | \`${permission}\`${grants.join("")} |`;
  });
  return ["| route | | requires |", "|---|---|---|", ...rows];
}

/** Default of the schema; empty where the machine decides and the page explains it. */
function settingDefault(name: ServerSetting): string | undefined {
  if (name === "SERVICE_MAX_CPU" || name === "SERVICE_MAX_MEMORY_MB") return undefined;
  const { data } = SERVER_SETTINGS[name].safeParse(undefined);
  if (data === undefined || data === "") return undefined;
  if (Array.isArray(data)) return data.length === 0 ? undefined : `\`${data.join(",")}\``;
  return typeof data === "object" ? `\`${Object.values(data).join(":")}\`` : `\`${data}\``;
}

function limitCells(name: keyof typeof DEFAULT_LIMITS): Readonly<Record<string, string>> {
  const variable = name === "connections" ? "" : `\`${limitVariable(name)}\``;
  return { default: DEFAULT_LIMITS[name].toLocaleString("en"), variable };
}
