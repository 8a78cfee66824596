import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CONCURRENT_ROWS } from "@appdb/adapters/udf/worker-functions";
import { ERRORS } from "@appdb/contract/errors";
import { MAX_NAME_LENGTH, MAX_ORGANIZATION_LENGTH } from "@appdb/contract/names";
import { limitVariable } from "@appdb/contract/service-limits";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { MOST_LISTED_JOBS } from "@appdb/engine/background/list-jobs";
import { KEEP_ENDED_JOBS_DAYS } from "@appdb/engine/jobs/collect-jobs";
import { MOST_UPDATE_ATTEMPTS } from "@appdb/engine/write/row-updater";
import { databaseLimits, databasesPage } from "./databases-page.ts";
import { functionsPage } from "./functions-page.ts";
import { gatewayLimits } from "./gateway-limits.ts";
import { LIMIT_MEANINGS, LIMIT_NAMES } from "./limit-meanings.ts";
import { ROOT } from "./paths.mjs";
import { permissionsPage } from "./permissions-page.ts";
import { servicesPage } from "./services-page.ts";
import { settingsPage } from "./settings-page.ts";

const GENERATED = "<!-- Made by `npm run docs` from the code it describes; a test compares the two. -->";

/** The pages of docs/ that are printed from code, by file name. */
export function referencePages(): Record<string, string> {
  return {
    "errors.md": errorsPage(),
    "limits.md": limitsPage(),
    "functions.md": functionsPage(GENERATED),
    "permissions.md": permissionsPage(GENERATED),
    "databases.md": databasesPage(GENERATED),
    "services.md": servicesPage(GENERATED),
    "settings.md": settingsPage(GENERATED),
  };
}

function errorsPage(): string {
  const lines = [
    "# Errors",
    "",
    GENERATED,
    "",
    "Every error has one of these codes. A code never changes; wording may. HTTP answers carry it as `code` in an",
    "`application/problem+json` body beside `detail` (what happened, with the real values) and `hint` (one next step);",
    "the command prints `error:` and `hint:` on stderr, or the same object with `--json`. Its `type` is the code as a URN,",
    "`urn:appdb:error:row_not_found`: a name to compare, and no address. This page lists them.",
  ];
  for (const [heading, codes] of groupsOfErrors()) {
    lines.push("", `## ${heading}`, "", "| code | status | meaning |", "|---|---|---|");
    for (const code of codes) lines.push(`| \`${code}\` | ${ERRORS[code].status} | ${ERRORS[code].title} |`);
  }
  return `${lines.join("\n")}\n`;
}

/** A number that a module of the Python library names. */
function pythonNumber(file: string, name: string): string {
  const source = readFileSync(join(ROOT, "python/appdb", file), "utf8");
  const found = new RegExp(`^${name} = ([\\d_.]+)$`, "m").exec(source)?.[1];
  if (found === undefined) throw new Error(`python/appdb/${file} names no ${name}`);
  return Number(found.replaceAll("_", "")).toLocaleString("en");
}

/** The catalogue's comments are its headings: `// rows and functions` opens a group. */
function groupsOfErrors(): [heading: string, codes: (keyof typeof ERRORS)[]][] {
  const source = readFileSync(join(ROOT, "packages/contract/src/errors.ts"), "utf8");
  const body = source.slice(source.indexOf("export const ERRORS"), source.indexOf("} as const satisfies"));
  const groups: [string, (keyof typeof ERRORS)[]][] = [];
  for (const line of body.split("\n")) {
    const heading = /^ {2}\/\/ (.+)$/.exec(line)?.[1];
    if (heading !== undefined) groups.push([heading[0]?.toUpperCase() + heading.slice(1), []]);
    const code = /^ {2}(\w+): \{/.exec(line)?.[1];
    if (code !== undefined && code in ERRORS) groups.at(-1)?.[1].push(code as keyof typeof ERRORS);
  }
  return groups;
}

function limitsPage(): string {
  const service = LIMIT_NAMES.map((name) => {
    const variable = name === "connections" ? "" : `\`${limitVariable(name)}\``;
    return `| \`${name}\` | ${DEFAULT_LIMITS[name].toLocaleString("en")} | ${variable} | ${LIMIT_MEANINGS[name]} |`;
  });
  return `${[
    "# Limits",
    "",
    GENERATED,
    "",
    "## Of a service",
    "",
    "Variables are read by the daemon when it starts (`cli daemon restart`). For hosted services they are settings of the server",
    "([settings.md](settings.md)), which hold for a pod from its next start on; there workers and their memory are what the database's entry says,",
    "and `SERVICE_MAX_BODY_MB` bounds bodies.",
    "",
    "| limit | default | variable | meaning |",
    "|---|---|---|---|",
    ...service,
    "",
    ...databaseLimits(),
    "",
    ...gatewayLimits(),
    "",
    "## Of functions",
    "",
    "| limit | number |",
    "|---|---|",
    `| rows of async and batched functions under way in one worker, where no pool or batch asks for more | ${CONCURRENT_ROWS} |`,
    `| \`batch_size\` of a function | ${pythonNumber("_udf.py", "_MAX_BATCH")} |`,
    `| \`timeout\` of a function, in seconds | ${pythonNumber("_udf.py", "_MAX_TIMEOUT_S")} |`,
    `| times that an update starts over because its row was changed while a function ran; then \`overloaded\` | ${MOST_UPDATE_ATTEMPTS} |`,
    `| pause that a provider may ask for and that is still waited for, in seconds | ${pythonNumber("_providers.py", "LONGEST_PAUSE_S")} |`,
    "",
    "## Of jobs",
    "",
    "| limit | number |",
    "|---|---|",
    `| days for which a job that has ended is listed (\`cli jobs list --all\`) | ${KEEP_ENDED_JOBS_DAYS} |`,
    `| jobs in a list | ${MOST_LISTED_JOBS.toLocaleString("en")} |`,
    "",
    "## Of names",
    "",
    "| name | characters |",
    "|---|---|",
    `| table, column, index, service, folders of a target together | at most ${MAX_NAME_LENGTH} |`,
    `| organization | at most ${MAX_ORGANIZATION_LENGTH} |`,
    "",
    "## Of values",
    "",
    "| type | range | beyond it |",
    "|---|---|---|",
    "| Int | -9223372036854775808 to 9223372036854775807, also in JSON | 422 for input; a cell error when computed |",
    "| Float | 64-bit floating point, finite | 422 for input; a cell error when computed |",
    "| String | any Unicode but NUL | 422 for input; a cell error when computed |",
    "| Timestamp | years 1 to 9999 in UTC, microseconds | 422 for input; a cell error when computed |",
    "| Json | 500 levels deep, finite numbers | 422 for input; a cell error when computed |",
    "| Array | 6 dimensions, the dtype's range, finite floats | 422 for input; a cell error when computed |",
  ].join("\n")}\n`;
}
