import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { DatabaseState, EnvironmentDocument, POD_STATES } from "@appdb/contract/routes/control-databases";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { DesiredDatabase, ObservedDatabase } from "./desired.ts";

/** The database sets it by default. */
type Made = ColumnType<Date, Date | undefined, Date>;
type Failure = { code: string; detail: string; hint: string | null };
interface DatabaseTable {
  id: Generated<string>;
  org_id: string;
  name: string;
  state: ColumnType<DatabaseState, DatabaseState | undefined, DatabaseState>;
  created_at: Made;
  generation: Generated<number>;
  observed_generation: Generated<number>;
  /** Read as an object, written as JSON text. */
  desired: ColumnType<DesiredDatabase, string | undefined, string>;
  observed: JSONColumnType<ObservedDatabase> | null;
  failure: JSONColumnType<Failure> | null;
  last_build: JSONColumnType<{
    state: "running" | "succeeded" | "failed";
    error: Failure | null;
    operation_id: string | null;
    at: string;
  }> | null;
  usage: JSONColumnType<{
    disk_bytes: number;
    disk_limit_bytes: number;
    memory_bytes: number | null;
    is_disk_full: boolean;
    media_bytes?: number;
    media_objects?: number;
    is_media_in_bucket?: boolean;
    media_limit_bytes?: number | null;
    measured_at?: string | null;
  }> | null;
  /** A bigint, like `awake_ms`: total of all its pods. */
  cpu_ms: Generated<string>;
  awake_ms: Generated<string>;
  /** The last report of its last pod. */
  metered: JSONColumnType<{ run: string; cpu_ms: number; awake_ms: number }> | null;
  awake_because: string | null;
  last_used_at: Date | null;
  data_key_id: string | null;
  sealed_pod_token: Buffer | null;
  purge_at: Date | null;
  /** Consecutive failed starts since its pod last ran for long. */
  failed_starts: Generated<number>;
  /** After a failure of the machine: when the next automatic start is tried. */
  retry_at: Date | null;
  /** Whether the end of its organization's suspension starts it again. */
  stopped_by_suspension: Generated<boolean>;
  /** Trees that the tables of a sleeping database need. Null while it runs or if unknown. */
  needed_trees: JSONColumnType<string[]> | null;
  /** Host label below the server's domain. Opaque. */
  gateway_label: Generated<string>;
  /** The gateway's port without a domain, assigned by the first gateway that serves it. */
  gateway_port: number | null;
}

interface PodTable {
  id: string;
  database_id: string;
  kind: "database" | "service";
  state: (typeof POD_STATES)[number];
  restarts: Generated<number>;
  started_at: Date | null;
  reason: string | null;
  /** A bigint. */
  memory_bytes: string | null;
  draining_since: Date | null;
  memory_ended_at: Date | null;
  memory_ended_mb: number | null;
}

interface ImageTable {
  org_id: string;
  hash: string;
  state: "building" | "ready" | "failed";
  environment: JSONColumnType<EnvironmentDocument>;
  python: string | null;
  packages: JSONColumnType<{ name: string; version: string }[]> | null;
  bytes: string | null;
  files: Generated<number>;
  /** Bytes reserved for its build. */
  reserved_bytes: Generated<string>;
  reserved_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  built_at: Date | null;
  used_at: Made;
}

interface TreeTable {
  org_id: string;
  digest: string;
  entries: JSONColumnType<TreeEntry[]>;
  files: number;
  bytes: string;
  /** Size of the list itself. */
  list_bytes: Generated<number>;
  created_at: Made;
  used_at: Made;
}

interface UnpackedTable {
  database_id: string;
  folder: string;
  org_id: string;
  bytes: string;
  files: number;
  created_at: Made;
}

interface BlobTable {
  org_id: string;
  digest: string;
  bytes: number;
  /** False while it is being written. */
  is_stored: Generated<boolean>;
  used_at: Made;
}

interface OperationLineTable {
  operation_id: string;
  number: number;
  at: Made;
  level: "debug" | "info" | "warn" | "error";
  line: string;
}

interface PodsHomeTable {
  is_only: Generated<boolean>;
  home_id: string;
  claimed_at: Made;
  isolated_at: ColumnType<Date | null, never, Date>;
}

/** Tables of databases with their pods, images and files. */
export interface DatabaseTables {
  "control.databases": DatabaseTable;
  "control.pods": PodTable;
  "control.images": ImageTable;
  "control.trees": TreeTable;
  "control.blobs": BlobTable;
  "control.unpacked": UnpackedTable;
  "control.operation_lines": OperationLineTable;
  "control.pods_home": PodsHomeTable;
}
