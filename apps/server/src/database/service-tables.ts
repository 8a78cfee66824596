import type { Manifest } from "@appdb/contract/manifest";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import type { ColumnType, Generated, JSONColumnType } from "kysely";

/** Set by the database unless given. */
type Made = ColumnType<Date, Date | undefined, Date>;
type Failure = { code: string; detail: string; hint: string | null };

/** What a service shall be, as people asked for it: `control.services.desired`. */
export interface DesiredService {
  /** Number of the release that it shall run. */
  readonly release: number;
  /** Its pods run while its database is awake. */
  readonly is_running: boolean;
  /** Grows when its pods are to be started anew although the release is the same. */
  readonly restarts: number;
}

/** What serves: `control.services.observed`. */
export interface ObservedService {
  readonly release: number;
  readonly restarts: number;
  /** Its pod is `svc-<service id>-<instance>`. */
  readonly instance: number;
}

interface ServiceTable {
  id: Generated<string>;
  org_id: string;
  database_id: string;
  name: string;
  state: ColumnType<ServiceState, ServiceState | undefined, ServiceState>;
  created_at: Made;
  generation: Generated<number>;
  observed_generation: Generated<number>;
  desired: ColumnType<DesiredService, string, string>;
  observed: ColumnType<ObservedService | null, string | null | undefined, string | null>;
  instance: Generated<number>;
  failure: JSONColumnType<Failure> | null;
  failed_starts: Generated<number>;
  is_pruned: Generated<boolean>;
}

interface ReleaseTable {
  service_id: string;
  number: number;
  tree: string | null;
  environment: string | null;
  app_file: string;
  manifest: ColumnType<Manifest, string, never>;
  workers: number;
  changes: ColumnType<string[], string, never>;
  created_at: Made;
  created_by: string;
}

/** What came to one route of a service in one minute, by one gateway. */
export interface CountedRoute {
  readonly client_errors: number;
  readonly server_errors: number;
  /** Counts of requests in the buckets of gateway/latencies.ts. */
  readonly latencies: readonly number[];
}

interface TrafficTable {
  service_id: string;
  minute: Date;
  writer: string;
  routes: ColumnType<Record<string, CountedRoute>, string, string>;
}

/** Tables of services. */
export interface ServiceTables {
  "control.services": ServiceTable;
  "control.releases": ReleaseTable;
  "control.traffic": TrafficTable;
}
