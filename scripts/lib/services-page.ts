import { SERVICE_EVENTS, SERVICE_TRANSITIONS, type ServiceEvent } from "@appdb/contract/control/service-states";
import { SERVICE_STATES, type ServiceState } from "@appdb/contract/routes/control-services";

/** What each state means to a person. The compiler asks for a line when a state is added. */
const MEANINGS: Record<ServiceState, string> = {
  DEPLOYING: "it is started for the first time",
  STARTING: "nothing of it serves; a pod is being started",
  UPDATING: "it serves, and another pod that will take over is being started",
  AVAILABLE: "it serves",
  STOPPING: "its pods end their requests",
  STOPPED: "no pod runs: it was stopped, or its database is asleep (`cli service list` says which)",
  FAILED: "it could not be started, or ended again and again; `cli service list` says why",
};

const REQUESTS = ["update", "restart", "stop", "retry"] as const satisfies readonly ServiceEvent[];
const SEEN = ["ready", "start_failed", "stopped", "lost", "woken"] as const satisfies readonly ServiceEvent[];

/** docs/services.md: how routes are served from hosted databases, with the table of states that the service reads. */
export function servicesPage(generated: string): string {
  return `${[
    "# Services of hosted databases",
    "",
    generated,
    "",
    "A service is the routes of one `Router` of the application, served by pods of its own beside its database's PostgreSQL, behind API keys.",
    "",
    "    cli service update app.py cloud://acme:main    # starts what is missing, moves what changed, after showing it and asking",
    "    cli service list cloud://acme:main             # addresses, states and routes",
    "    cli service logs cloud://acme:main/ingest -f   # also --since 1h, --search text, --route /docs, --request-id ...",
    "    cli service restart cloud://acme:main/ingest   # with the release that it has; reads new secrets",
    "    cli service stop cloud://acme:main/ingest      # until the next restart or update",
    "    cli service releases cloud://acme:main/ingest  # what it ran and runs",
    "    cli service rollback cloud://acme:main/ingest  # back to the last release that served before, or --to 3, after showing what that changes for its clients",
    "    cli service prune app.py cloud://acme:main     # takes away services that the file does not define",
    "",
    "`cli deploy app.py cloud://acme:main` does all of it in one. First it uploads the project's files, and where the image or the variables change it builds",
    "the image and has its Python read `app.py`, apart from everything that runs: a build that fails ends the deployment there, and nothing has changed. Then it",
    "shows one plan of what `db update`, `schema update` and `service update` would do with that, asks once, and does them in this order. `-n` ends with the plan.",
    "Ctrl-C cancels what is being prepared; what was prepared and not deployed is found built for a week. Tables and services of a database that does not exist",
    "yet are all new, and made without a plan of their own; one that went to sleep automatically is started, one that a person stopped is refused.",
    "",
    "`cli rollback cloud://acme:main` undoes the last deployment as one, after showing what that is, routes that come and go included: services go back to the releases that they had, what it",
    "made is stopped and forgotten, then the database has its former files, image, size and settings. Where only files differ no request is refused",
    "meanwhile; another image or size restarts the database, and what asks for it in that second is answered 503 with `Retry-After`. Tables and rows",
    "stay: columns that it added are left, and what it dropped does not come back; where a former release cannot run without that, nothing is undone.",
    "Asked again, it undoes the deployment before that one, of up to ten. What was",
    "changed since by other commands is never undone along with it: then it says what, and does nothing. While somebody deploys, neither another deployment",
    "begins nor a rollback: both say who, since when, and what to wait for. One that was cut, by a lost connection for example, counts as such after a minute.",
    "",
    "Routes are called at the address that the list prints; it is never to be put together by hand:",
    "",
    "    curl -X POST <address>/docs -H 'X-api-key: sk_...' -H 'content-type: application/json' -d '{\"title\":\"Hello\"}'",
    "",
    "`X-api-key` is looked at first, then `Authorization: Bearer`. A key without grants may call every service of its organization, one with",
    "`access:cloud://acme:main/services/ingest` that service alone ([api-keys.md](api-keys.md)). Keys are for programs: a page asks its own backend.",
    "",
    "In a browser `<address>/docs` shows the routes and calls them. The page asks for the key, which stays in its tab and is never part of an address;",
    "strangers are shown the same page at every path, whether there is a service or not.",
    "",
    "## Releases",
    "",
    "`service update` makes a release: the project files and the image that the database has then, the routes that `app.py` declares, and how many",
    "workers run. A later `db update` moves no service; the list says that one is pending. An update is refused, with what to type next, when the files",
    "here are not those of the database (`cli db update`), or when the tables are not what the file declares (`cli schema update`). What callers would",
    "notice (a route that goes, other inputs or outputs) asks for `--allow-destructive`.",
    "",
    "The new pod is started beside the old one; once it serves, requests go to it, and the old one ends when its last request has. No request is",
    "refused meanwhile. A release that does not start leaves the one before serving. The last 10 releases are kept, and any of them can be gone back to;",
    "the tables stay as they are. A release that does not fit them any more (a column that it knows was dropped, renamed or has another type, or it lacks one",
    "that must be given) is refused with what differs; what a later update only added is no hindrance.",
    "",
    "## Sleep",
    "",
    "Services end with their database (`cli db stop`, `sleep_after`) and start with it. What runs in them is answered first, for 20 seconds at the most. A request to one whose database is asleep is answered 503,",
    "or waits until it is awake where the database's entry says `wake_on_request = true`. `cli db restart` and `cli db update` do not",
    "touch services.",
    "",
    "## States",
    "",
    "| state | meaning |",
    "|---|---|",
    ...SERVICE_STATES.map((state) => `| \`${state}\` | ${MEANINGS[state]} |`),
    "",
    "What people ask for, and the state after it. An empty cell: it is refused. A request that comes while another is carried out takes its place.",
    "",
    ...tableOf(REQUESTS),
    "",
    "What the service sees, and the state after it:",
    "",
    ...tableOf(SEEN),
    "",
    ...SEEN.map((event) => `- \`${event}\`: ${SERVICE_EVENTS[event]}.`),
  ].join("\n")}\n`;
}

function tableOf(events: readonly ServiceEvent[]): string[] {
  return [
    `| state | ${events.map((event) => `\`${event}\``).join(" | ")} |`,
    `|---|${events.map(() => "---").join("|")}|`,
    ...SERVICE_STATES.map((state) => {
      const cells = events.map((event) => SERVICE_TRANSITIONS[state][event]);
      return `| \`${state}\` | ${cells.map((next) => (next === "refuse" ? "" : next)).join(" | ")} |`;
    }),
  ];
}
