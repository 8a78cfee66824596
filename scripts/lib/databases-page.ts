import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DOCUMENT_LIMITS } from "@appdb/adapters/documents/tenant-documents";
import { MAX_DEPENDENCIES, MAX_REQUIREMENT_LENGTH } from "@appdb/adapters/environments/check-lock";
import { MOST_MEMBERS } from "@appdb/adapters/http/value-bounds";
import { MOST_PACKAGES } from "@appdb/adapters/images/image-folder";
import { MANIFEST_TIMEOUT_MS, MOST_MANIFEST_BYTES } from "@appdb/adapters/udf/read-manifest";
import { DATABASE_EVENTS, type DatabaseEvent, TRANSITIONS } from "@appdb/contract/control/database-states";
import { CHUNK_BYTES, MAX_PATH_PARTS, MAX_TREE_BYTES, MAX_TREE_FILES } from "@appdb/contract/control/project-tree";
import { MAX_LINK_STEPS, MAX_TREE_FOLDERS } from "@appdb/contract/control/tree-links";
import { MOST_DECLARED, MOST_NAMES } from "@appdb/contract/manifest";
import {
  DATABASE_STATES,
  type DatabaseState,
  MAX_ENVIRONMENT_FILES,
  MAX_ENVIRONMENT_LENGTH,
} from "@appdb/contract/routes/control-databases";
import { MOST_PREPARATIONS } from "@appdb/contract/routes/control-deploys";
import { MOST_PATTERNS } from "@appdb/contract/service-toml";
import {
  MOST_ENDED,
  MOST_FAILURES,
  MOST_WAITING,
  MOST_WEBHOOKS,
  WEBHOOKS_AT_ONCE,
} from "../../apps/server/src/audit/webhook-limits.ts";
import { AT_ONCE, OF_ONE_ORG } from "../../apps/server/src/queue/shares.ts";
import { MOST_LINE_BYTES } from "../../apps/server/src/reconciler/images/operation-lines.ts";
import { BLOCK_BYTES } from "../../apps/server/src/storage/storage-use.ts";
import { ROOT } from "./paths.mjs";

/** What each state means to a person. The compiler asks for a line when a state is added. */
const MEANINGS: Record<DatabaseState, string> = {
  PROVISIONING: "it is being made: its image is built and its pod is started for the first time",
  UPDATING: "an update is carried out, or its image is built again; until its pods are started anew, rows are served",
  AVAILABLE: "it runs and answers",
  STOPPING: "its pods are being ended; its data stay",
  STOPPED: "it sleeps: no process runs, its data are kept",
  STARTING: "its pods are being started",
  FAILED: "it could not be built the first time, or not be started; `cli db status` says why",
  DELETING: "its pods have ended; its storage is kept until it goes for good",
};

/** What people ask for. The rest of the events is what the service sees. */
const REQUESTS = ["update", "build_image", "start", "stop", "restart", "retry", "delete", "undelete"] as const;
const SEEN = ["ready", "build_failed", "start_failed", "stopped", "lost"] as const satisfies readonly DatabaseEvent[];

/** docs/databases.md: what states databases go through, from the table that the service reads. */
export function databasesPage(generated: string): string {
  return `${[
    "# Databases",
    "",
    generated,
    "",
    "A hosted database has a PostgreSQL, pods, an image, project files and secrets of its own. `main` comes with its organization and stays;",
    "others are made by the first `cli db update` of their name.",
    "",
    "## Update",
    "",
    "    cli db diff cloud://acme:main          # what an update would do; exit 2 when there is something",
    "    cli db update cloud://acme:main        # shows the same, asks, and does it",
    "",
    "Both read the database's entry in service.toml and the project's files, and have the control plane plan by them:",
    "",
    "| part | what is compared | what it costs |",
    "|---|---|---|",
    "| image | `uv.lock` or `requirements.txt` with what they name, Python version, system packages | a build, unless the organization has that image; one restart |",
    "| files | each file's bytes, its executable bit, links | an upload of what is missing; services run them after `cli service update` |",
    "| resources | `cpu`, `memory_mb`, `disk_gb`, `workers` | one restart; less than before asks for `--allow-destructive` |",
    "| settings | `sleep_after`, `wake_on_request` | nothing |",
    "| settings | `vars`, `db_input_media_dest`, `db_output_media_dest` | one restart |",
    "",
    "The databases of an organization share a sum of `cpu`, `memory_mb` and `disk_gb` ([limits](limits.md)); one that asks for more than is left is",
    "refused with `resources_quota`, which says what is used, asked and most.",
    "",
    "What an entry leaves out stays as it is. An update is carried out against the generation that was planned: when somebody else changed the",
    "database meanwhile, it is refused with `generation_moved`, which says who did what. It is compared with what the database runs: an update",
    "whose build failed or that was cancelled is still to be done, and shows again. Without `uv.lock` and `requirements.txt` the image has the base",
    "library alone, and nothing is built.",
    "",
    "## States",
    "",
    "| state | meaning |",
    "|---|---|",
    ...DATABASE_STATES.map((state) => `| \`${state}\` | ${MEANINGS[state]} |`),
    "",
    "What people ask for, and the state after it. An empty cell: it is refused, with the command that leads on. A request that finds the database as",
    "it asks for does nothing; one that comes while another is carried out takes its place.",
    "",
    ...tableOf(REQUESTS),
    "",
    "What the service sees, and the state after it:",
    "",
    ...tableOf(SEEN),
    "",
    ...SEEN.map((event) => `- \`${event}\`: ${DATABASE_EVENTS[event]}.`),
    "",
    "A failed build of a database that runs an image leaves it as it was: `cli db status` shows the failed build, and `cli db build-image` sends the corrected files and builds again.",
    "Tables are changed (`cli schema update`) while the database is AVAILABLE. Rows are read and inserted also while an image is built.",
    "",
    "## Delete",
    "",
    `\`cli db delete\` ends the pods at once. The storage and the secrets are kept for ${undeleteDays()} days (\`SERVICE_UNDELETE_DAYS\` of the server), in which`,
    "`cli db undelete` brings the database back, asleep; its name stays taken until then. `--now` removes the storage at once, also of a database that was",
    "deleted before. `main` cannot be deleted.",
  ].join("\n")}\n`;
}

/** Limits of hosted databases, for docs/limits.md. */
export function databaseLimits(): string[] {
  const bound = (name: string) => `\`SERVICE_MIN_${name}\`, \`SERVICE_MAX_${name}\``;
  return [
    "## Of hosted databases",
    "",
    "The operator of a server sets them by its environment or server.toml; what is beyond them is refused with `resources_refused`, `storage_quota`,",
    "`payload_too_large`, `disk_full` or `tree_invalid`.",
    "",
    "| limit | default | variable |",
    "|---|---|---|",
    `| \`cpu\` | 0.1 to a quarter of the machine's cores, at least 2; 1 for a new database | ${bound("CPU")} |`,
    `| \`memory_mb\` | 256 to a quarter of the machine's memory, at least 2,048; 1,024 for a new database | ${bound("MEMORY_MB")} |`,
    `| \`disk_gb\` | 1 to 100; 10 for a new database | ${bound("DISK_GB")} |`,
    `| \`workers\` | 1 to 16; 1 for a new database | ${bound("WORKERS")} |`,
    "| `cpu`, `memory_mb` and `disk_gb` of an organization's databases together; `resources_quota` past it | twice the most of one database, or what its databases need with the defaults | `SERVICE_ORG_CPU`, `SERVICE_ORG_MEMORY_MB`, `SERVICE_ORG_DISK_GB` |",
    `| organizations that a person makes; \`organization_quota\` past it | ${settingDefault("SERVICE_ORGS_PER_PERSON")} | \`SERVICE_ORGS_PER_PERSON\` |`,
    `| days in which a deleted database can be undeleted | ${undeleteDays()} | \`SERVICE_UNDELETE_DAYS\` |`,
    `| databases of an organization | ${settingDefault("SERVICE_DATABASE_QUOTA")} | \`SERVICE_DATABASE_QUOTA\` |`,
    `| gigabytes of an organization's uploaded project files | ${settingDefault("SERVICE_MAX_UPLOADS_GB")} | \`SERVICE_MAX_UPLOADS_GB\` |`,
    `| gigabytes that an organization stores: uploads, unpacked project files, images | ${settingDefault("SERVICE_MAX_STORED_GB")} | \`SERVICE_MAX_STORED_GB\` |`,
    `| files that it stores, each counted with at least ${BLOCK_BYTES.toLocaleString("en")} bytes | ${Number(settingDefault("SERVICE_MAX_STORED_FILES")).toLocaleString("en")} | \`SERVICE_MAX_STORED_FILES\` |`,
    `| free gigabytes of the server's disk below which organizations write nothing | 1 | \`SERVICE_DISK_FLOOR_GB\` |`,
    `| megabytes of lines that an organization's operations have said; the oldest go first | ${MOST_LINE_BYTES / 1024 ** 2} | |`,
    `| files of a project | ${MAX_TREE_FILES.toLocaleString("en")} | |`,
    `| folders of a project | ${MAX_TREE_FOLDERS.toLocaleString("en")} | |`,
    `| names in a path, and in the target of a link | ${MAX_PATH_PARTS.toLocaleString("en")} | |`,
    `| links that a path may follow | ${MAX_LINK_STEPS.toLocaleString("en")} | |`,
    `| files of an environment; \`invalid_request\` past it | ${MAX_ENVIRONMENT_FILES} | |`,
    `| characters of an environment's files together | ${MAX_ENVIRONMENT_LENGTH.toLocaleString("en")} | |`,
    `| dependencies of a project, or lines of its requirements; \`environment_refused\` past it | ${MAX_DEPENDENCIES.toLocaleString("en")} | |`,
    `| characters of a requirement | ${MAX_REQUIREMENT_LENGTH.toLocaleString("en")} | |`,
    `| seconds in which a lock or a manifest is read | ${DOCUMENT_LIMITS.timeout_ms / 1_000} | |`,
    `| bytes of an application's manifest; \`app_invalid\` past it | ${MOST_MANIFEST_BYTES.toLocaleString("en")} | |`,
    `| tables of an application, and its functions, queries, services and a service's routes | ${MOST_DECLARED.toLocaleString("en")} | |`,
    `| columns of a table, parameters of a function or query, inputs of a route | ${MOST_NAMES.toLocaleString("en")} | |`,
    `| patterns of include, exclude and include_only each | ${MOST_PATTERNS.toLocaleString("en")} | |`,
    `| members of one list or object of a request to the server; \`invalid_request\` past it | ${MOST_MEMBERS.toLocaleString("en")} | |`,
    `| packages of an image; \`build_failed\` past it | ${MOST_PACKAGES.toLocaleString("en")} | |`,
    `| bytes of a project's files together | ${MAX_TREE_BYTES.toLocaleString("en")} | |`,
    `| bytes of a piece in which files are uploaded | ${CHUNK_BYTES.toLocaleString("en")} | |`,
    `| deployments to a database that are prepared at a time; \`overloaded\` past it | ${MOST_PREPARATIONS} | |`,
    `| minutes in which an application file is read for a plan | ${MANIFEST_TIMEOUT_MS / 60_000} | |`,
    "",
    "## Of one organization's share",
    "",
    "What is beyond a share waits, and organizations take turns.",
    "",
    "| work of the server | at a time | of one organization |",
    "|---|---|---|",
    `| databases that are started, changed or stopped | ${AT_ONCE.databases} | ${OF_ONE_ORG.databases} |`,
    `| services that are started, changed or stopped | ${AT_ONCE.services} | ${OF_ONE_ORG.services} |`,
    `| builds of images and preparations of deployments | ${AT_ONCE.builds} | ${OF_ONE_ORG.builds} |`,
    `| organizations to whose webhooks is posted, and webhooks of one | ${AT_ONCE.webhooks} | ${WEBHOOKS_AT_ONCE} |`,
    `| webhooks of an organization | | ${MOST_WEBHOOKS} |`,
    `| failures in a row after which a webhook is paused | | ${MOST_FAILURES} |`,
    `| deliveries that wait for a webhook; of more the oldest is dropped | | ${MOST_WAITING.toLocaleString("en")} |`,
    `| deliveries that have ended, of a webhook's list | | ${MOST_ENDED.toLocaleString("en")} |`,
  ];
}

function tableOf(events: readonly DatabaseEvent[]): string[] {
  const shown = (event: DatabaseEvent) => `\`${event.replace("_", "-")}\``;
  const header = (REQUESTS as readonly string[]).includes(events[0] ?? "") ? shown : (event: string) => `\`${event}\``;
  return [
    `| state | ${events.map(header).join(" | ")} |`,
    `|---|${events.map(() => "---").join("|")}|`,
    ...DATABASE_STATES.map((state) => {
      const cells = events.map((event) => TRANSITIONS[state][event]).map((next) => (next === "refuse" ? "" : next));
      return `| \`${state}\` | ${cells.join(" | ")} |`;
    }),
  ];
}

function undeleteDays(): string {
  return settingDefault("SERVICE_UNDELETE_DAYS");
}

/** The default of a setting of the server, as its configuration declares it. */
function settingDefault(name: string): string {
  const files = ["config-pods.ts", "config-quotas.ts", "config.ts"].map((file) =>
    readFileSync(join(ROOT, "apps/server/src/config", file), "utf8"),
  );
  const found = new RegExp(`${name}: count\\((\\d[\\d_]*),`).exec(files.join("\n"))?.[1];
  if (found === undefined) throw new Error(`The server's configuration has no ${name}.`);
  return found.replaceAll("_", "");
}
