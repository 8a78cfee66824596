import type { Manifest } from "@appdb/contract/manifest";
import type { Resources } from "@appdb/contract/pod-spec";
import type { Deploy } from "@appdb/contract/routes/control-deploys";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { DesiredDatabase } from "./desired.ts";

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
  /** Of one that failed because of the machine: when the next start is tried without anybody asking. */
  retry_at: Date | null;
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
  /** When its pod was ready for the first time; null while it never was. */
  served_at: ColumnType<Date | null, never, Date>;
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

/** What a deployment changes, as it was at a moment. */
export interface DeployContent {
  readonly tree: string | null;
  readonly environment: string | null;
  readonly resources: Resources;
  readonly settings: DesiredDatabase["settings"];
  /** By name, with the release that each shall run. */
  readonly services: readonly { readonly name: string; readonly release: number; readonly is_running: boolean }[];
}

interface DeployTable {
  id: Generated<string>;
  org_id: string;
  database_id: string;
  app_file: string;
  state: ColumnType<Deploy["state"], Deploy["state"] | undefined, Deploy["state"]>;
  created_at: Made;
  created_by: string;
  ended_at: ColumnType<Date | null, never, Date>;
  before: ColumnType<DeployContent, string, never>;
  after: ColumnType<DeployContent | null, never, string>;
  alive_at: ColumnType<Date, never, Date>;
}

/** What a deployment would bring. */
interface PreparationTable {
  id: Generated<string>;
  org_id: string;
  database_id: string;
  operation_id: string;
  app_file: string;
  tree: string;
  environment: string | null;
  resources: ColumnType<Resources, string, never>;
  settings: ColumnType<DesiredDatabase["settings"], string, never>;
  /** Null until its image has read the application. */
  manifest: ColumnType<Manifest | null, never, string>;
  created_at: Made;
}

/** Tables of services. */
export interface ServiceTables {
  "control.deploys": DeployTable;
  "control.preparations": PreparationTable;
  "control.services": ServiceTable;
  "control.releases": ReleaseTable;
  "control.traffic": TrafficTable;
}
