import type { Manifest } from "@appdb/contract/manifest";
import type { Resources } from "@appdb/contract/pod-spec";
import type { Deploy } from "@appdb/contract/routes/control-deploys";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { DesiredDatabase } from "./desired.ts";

/** The database sets it by default. */
type Made = ColumnType<Date, Date | undefined, Date>;
type Failure = { code: string; detail: string; hint: string | null };

/** The requested state of a service: `control.services.desired`. */
export interface DesiredService {
  /** Number of the desired release. */
  readonly release: number;
  /** Whether its pods run while its database is awake. */
  readonly is_running: boolean;
  /** Increased to restart its pods without a new release. */
  readonly restarts: number;
}

/** The serving state: `control.services.observed`. */
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
  /** After a failure of the machine: when the next automatic start is tried. */
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
  /** When its pod was first ready. Null if it never was. */
  served_at: ColumnType<Date | null, never, Date>;
}

/** Requests to one route of a service in one minute, counted by one gateway. */
export interface CountedRoute {
  readonly client_errors: number;
  readonly server_errors: number;
  /** Counts of requests in the buckets of edge/latencies.ts. */
  readonly latencies: readonly number[];
}

interface TrafficTable {
  service_id: string;
  minute: Date;
  writer: string;
  routes: ColumnType<Record<string, CountedRoute>, string, string>;
}

/** The state of everything that a deployment changes. */
export interface DeployContent {
  readonly tree: string | null;
  readonly environment: string | null;
  readonly resources: Resources;
  readonly settings: DesiredDatabase["settings"];
  /** Services by name, with their desired releases. */
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

/** The result of a preparation. */
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
  /** Null until the image has read the application. */
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
