import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHUNK_BYTES, MAX_PATH_PARTS, MAX_TREE_BYTES, MAX_TREE_FILES } from "@appdb/contract/control/project-tree";
import { MAX_LINK_STEPS, MAX_TREE_FOLDERS } from "@appdb/contract/control/tree-links";
import { MAX_NODES } from "@appdb/contract/expressions";
import { MAX_DECLARED } from "@appdb/contract/manifest";
import { MAX_NAME_LENGTH, MAX_ORGANIZATION_LENGTH } from "@appdb/contract/names";
import { MAX_JOINS, MAX_SORT_KEYS } from "@appdb/contract/query";
import { MAX_ENVIRONMENT_FILES, MAX_ENVIRONMENT_LENGTH } from "@appdb/contract/routes/control-databases";
import { MAX_PREPARATIONS } from "@appdb/contract/routes/control-deploys";
import { BODY_BYTES } from "@appdb/contract/routes/control-paths";
import { SQL_CHARACTERS } from "@appdb/contract/routes/data-queries";
import { PROGRAM_LEASE_SECONDS, PROGRAM_LIMITS } from "@appdb/contract/routes/programs";
import * as psql from "@appdb/contract/routes/psql";
import { MAX_PATTERNS } from "@appdb/contract/service-toml";
import * as texts from "@appdb/contract/text-lengths";
import { MAX_NAMES } from "@appdb/contract/views";
import { MAX_LISTED_JOBS } from "@appdb/engine/background/list-jobs";
import { MAX_READS } from "@appdb/engine/data-queries/run-query";
import { MAX_STATEMENTS } from "@appdb/engine/data-queries/run-sql";
import { KEEP_ENDED_JOBS_DAYS } from "@appdb/engine/jobs/collect-jobs";
import { GIVES_WAY_S } from "@appdb/engine/routes/admission";
import { FREE_BYTES, SLOW_MS } from "@appdb/engine/routes/arriving-bodies";
import { MANY_ROWS } from "@appdb/engine/routes/route-context";
import { MAX_INDEX_COLUMNS } from "@appdb/engine/schema/index-columns";
import { MAX_VIEW_COLUMNS, MAX_VIEW_DEPTH } from "@appdb/engine/views/order-views";
import { PATIENCE_S, STEADY_BYTES_PER_S } from "@appdb/engine/write/awaited-body";
import { MAX_UPDATE_ATTEMPTS } from "@appdb/engine/write/row-updater";
import { MAX_MEMBERS } from "@appdb/http/value-bounds";
import { READER_TEMP_MB } from "@appdb/postgres/cluster/reader-role";
import { DOCUMENT_LIMITS } from "@appdb/python-runtime/documents/tenant-documents";
import { MAX_DEPENDENCIES, MAX_REQUIREMENT_LENGTH } from "@appdb/python-runtime/environments/check-lock";
import { MAX_PACKAGES } from "@appdb/python-runtime/images/image-folder";
import { MANIFEST_TIMEOUT_MS, MAX_MANIFEST_BYTES } from "@appdb/python-runtime/workers/read-manifest";
import { CONCURRENT_ROWS } from "@appdb/python-runtime/workers/worker-functions";
import * as bodiesInMemory from "../../apps/runtime/src/http/whole-bodies.ts";
import * as webhooks from "../../apps/server/src/audit/webhook-limits.ts";
import { FILE_SETTINGS, SERVER_SETTINGS, type ServerSetting } from "../../apps/server/src/config/config.ts";
import { MEDIA_DEFAULT_GB } from "../../apps/server/src/config/config-media.ts";
import * as strangers from "../../apps/server/src/gateway/admission/strangers.ts";
import { STREAMS } from "../../apps/server/src/gateway/domain-server.ts";
import { BUFFERED_BODY_BYTES } from "../../apps/server/src/gateway/forward/send-by-link.ts";
import { AT_ONCE, OF_ONE_ORG } from "../../apps/server/src/queue/shares.ts";
import { MAX_LINE_BYTES } from "../../apps/server/src/reconciler/images/operation-lines.ts";
import * as bodies from "../../apps/server/src/requests/body-bytes.ts";
import { BLOCK_BYTES } from "../../apps/server/src/storage/storage-use.ts";
import { type LibraryFunction, namesOfPlainFunctions } from "./function-tables.ts";
import { ROOT } from "./paths.mjs";

/** Numbers and words that pages name: `<!-- value: AT_ONCE.builds -->`. A setting's default has the setting's name. */
export function pageValues(functions: readonly LibraryFunction[]): Readonly<Record<string, unknown>> {
  return {
    DOCUMENT_SECONDS: DOCUMENT_LIMITS.timeout_ms / 1_000,
    MANIFEST_MINUTES: MANIFEST_TIMEOUT_MS / 60_000,
    LINE_MEGABYTES: MAX_LINE_BYTES / 1024 ** 2,
    FILE_SETTINGS: FILE_SETTINGS.map((name) => `\`${name}\``).join(", "),
    MAX_BATCH: pythonNumber("udfs/udf.py", "_MAX_BATCH"),
    MAX_TIMEOUT_S: pythonNumber("udfs/signatures.py", "_MAX_TIMEOUT_S"),
    LONGEST_PAUSE_S: pythonNumber("worker/providers.py", "LONGEST_PAUSE_S"),
    AT_ONCE,
    BLOCK_BYTES,
    BODY_BYTES,
    bodies,
    bodiesInMemory,
    BUFFERED_BODY_BYTES,
    CHUNK_BYTES,
    CONCURRENT_ROWS,
    FREE_BYTES,
    GIVES_WAY_S,
    KEEP_ENDED_JOBS_DAYS,
    MANY_ROWS,
    MAX_READS,
    MAX_STATEMENTS,
    PATIENCE_S,
    PROGRAM_LEASE_SECONDS,
    PROGRAM_LIMITS,
    READER_TEMP_MB,
    SLOW_S: SLOW_MS / 1_000,
    SQL_CHARACTERS,
    STEADY_BYTES_PER_S,
    PSQL_SESSIONS: psql.PSQL_SESSIONS,
    PSQL_SESSIONS_OF_ORG: psql.PSQL_SESSIONS_OF_ORG,
    PSQL_CONNECTIONS: psql.PSQL_CONNECTIONS,
    PSQL_HOURS: psql.PSQL_HOURS,
    PSQL_IDLE_MINUTES: psql.PSQL_IDLE_MINUTES,
    PSQL_TRANSACTION_MINUTES: psql.PSQL_TRANSACTION_MINUTES,
    PSQL_BLOCKS: psql.PSQL_BLOCKS,
    PSQL_PAUSE_MINUTES: psql.PSQL_PAUSE_MINUTES,
    PSQL_STATEMENT_BYTES: psql.PSQL_STATEMENT_BYTES,
    MAX_DEPENDENCIES,
    MAX_ENVIRONMENT_FILES,
    MAX_ENVIRONMENT_LENGTH,
    MAX_LINK_STEPS,
    MAX_NAME_LENGTH,
    MAX_ORGANIZATION_LENGTH,
    MAX_PATH_PARTS,
    MAX_REQUIREMENT_LENGTH,
    MAX_TREE_BYTES,
    MAX_TREE_FILES,
    MAX_TREE_FOLDERS,
    MAX_DECLARED,
    MAX_LISTED_JOBS,
    MAX_MANIFEST_BYTES,
    MAX_MEMBERS,
    MEDIA_DEFAULT_GB,
    MAX_NAMES,
    MAX_JOINS,
    MAX_NODES,
    MAX_VIEW_COLUMNS,
    MAX_VIEW_DEPTH,
    MAX_SORT_KEYS,
    texts,
    MAX_PACKAGES,
    MAX_INDEX_COLUMNS,
    MAX_PATTERNS,
    MAX_PREPARATIONS,
    MAX_UPDATE_ATTEMPTS,
    plain_functions: namesOfPlainFunctions(functions),
    OF_ONE_ORG,
    STREAMS,
    strangers,
    webhooks,
  };
}

/** Formats a value for a page. @throws when the name has no value */
export function readValue(values: Readonly<Record<string, unknown>>, name: string): string {
  if (name in SERVER_SETTINGS) return shown(name, SERVER_SETTINGS[name as ServerSetting].parse(undefined));
  const [source = "", member] = name.split(".");
  const found = values[source];
  return shown(name, member === undefined ? found : (found as Record<string, unknown> | undefined)?.[member]);
}

function shown(name: string, value: unknown): string {
  if (typeof value === "number") return value.toLocaleString("en");
  if (typeof value === "string") return value;
  throw new Error(`No value named '${name}' in scripts/lib/page-values.ts.`);
}

/** A numeric constant of a module of the Python library. */
function pythonNumber(file: string, name: string): number {
  const source = readFileSync(join(ROOT, "python/appdb", file), "utf8");
  const found = new RegExp(`^${name} = ([\\d_.]+)$`, "m").exec(source)?.[1];
  if (found === undefined) throw new Error(`python/appdb/${file} does not define ${name}.`);
  return Number(found.replaceAll("_", ""));
}
