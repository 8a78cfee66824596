import type { Logger } from "@appdb/engine/ports";
import type { ClusterFormat } from "./cluster-mark.ts";
import type { LocalAddress } from "./local-address.ts";
import type { ServerWay } from "./server-process.ts";

export interface EmbeddedPostgresOptions {
  readonly bin: string;
  /** Parent of the cluster's folder, which is named by its major version. */
  readonly folder: string;
  /** Short private folder for the socket (nameRuntimeFolder). Made at the start and removed at the stop. */
  readonly runtime_folder: string;
  readonly log_file: string;
  readonly log: Logger;
  /** New clusters are copies of this one, with `SOLE_DATABASE` as their only database (cluster-template.ts). */
  readonly template_folder?: string;
  /** Overrides and additions to the settings of a local server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Bytes of the disk that writers leave free: its write-ahead log is not larger. */
  readonly kept_free_bytes?: number | undefined;
  /** Whether the server shuts down when this process is killed. */
  readonly dies_with_parent?: boolean;
  /** Whether the runtime folder belongs to the caller and stays when the server stops. */
  readonly keeps_runtime_folder?: boolean;
  /** False once the home belongs to another daemon. The server is then not restarted, and the runtime folder stays. */
  readonly ownsHome?: () => boolean;
  /** Whether the databases do not belong to the engine and get no pgvector. */
  readonly without_vector?: boolean;
  /** Data format of this version. A cluster with an older format is copied before its first start by this version. */
  readonly format?: ClusterFormat;
  /** Replaces the system's default address in tests. */
  readonly address?: LocalAddress;
  readonly way?: ServerWay;
}
