import type { OPERATION_STATES } from "@appdb/contract/routes/control";
import type { ColumnType, Generated, JSONColumnType, Selectable } from "kysely";

/** The database sets it by default. */
type Made = ColumnType<Date, Date | undefined, Date>;

interface KeyTable {
  id: string;
  org_id: string;
  name: string;
  hash: Buffer;
  previous_hash: Buffer | null;
  previous_until: Date | null;
  grants: string[];
  created_by: string | null;
  acts_as: string | null;
  created_at: Made;
  last_used_at: Date | null;
  expires_at: Date | null;
}

interface DataKeyTable {
  id: Generated<string>;
  org_id: string;
  database_id: string | null;
  master_key_id: string;
  wrapped: Buffer;
  created_at: Made;
}

interface SecretTable {
  org_id: string;
  database_id: string | null;
  name: string;
  data_key_id: string;
  sealed: Buffer;
  set_by: string | null;
  updated_at: Made;
}

interface SigningKeyTable {
  is_only: Generated<boolean>;
  public_key: Buffer;
  master_key_id: string;
  wrapped: Buffer;
}

interface OperationTable {
  id: Generated<string>;
  org_id: string;
  database_id: string | null;
  /** The service of an operation, in addition to its database. */
  service_id: ColumnType<string | null, string | null | undefined, string | null>;
  kind: string;
  target: string;
  state: Generated<(typeof OPERATION_STATES)[number]>;
  is_cancellable: boolean;
  actor: string;
  user_id: string | null;
  detail: string | null;
  error: JSONColumnType<{ code: string; detail: string; hint: string | null }> | null;
  created_at: Made;
  started_at: Date | null;
  ended_at: Date | null;
  /** Size of the kept lines. */
  line_bytes: Generated<string>;
}

interface EventTable {
  /** A bigint, read as text. */
  id: ColumnType<string, never, never>;
  at: ColumnType<Date, never, never>;
  org_id: string | null;
  action: string;
  target: string;
  actor: string;
  user_id: string | null;
  key_id: string | null;
  ip_address: string | null;
  client: string | null;
  outcome: "succeeded" | "refused" | "failed" | "pending";
  operation_id: string | null;
  detail: JSONColumnType<Record<string, unknown>>;
}

interface WebhookTable {
  id: Generated<string>;
  org_id: string;
  url: string;
  actions: string[];
  data_key_id: string;
  sealed_secret: Buffer;
  created_at: Made;
  failing_since: Date | null;
  failures: Generated<number>;
  tried_at: Date | null;
  retry_at: Date | null;
  paused_at: Date | null;
}

interface DeliveryTable {
  id: Generated<string>;
  webhook_id: string;
  event_id: string;
  state: Generated<"pending" | "delivered" | "dead">;
  attempts: Generated<number>;
  last_status: number | null;
  last_error: string | null;
  next_attempt_at: Date | null;
  give_up_at: Made;
  created_at: Made;
}

/** Tables of an organization's resources: keys, secrets, operations, events, webhooks. */
export interface ResourceTables {
  "control.api_keys": KeyTable;
  "control.key_versions": { org_id: string; version: string };
  "control.data_keys": DataKeyTable;
  "control.secrets": SecretTable;
  "control.signing_key": SigningKeyTable;
  "control.operations": OperationTable;
  "control.events": EventTable;
  "control.webhooks": WebhookTable;
  "control.deliveries": DeliveryTable;
}

export type OperationRow = Selectable<ResourceTables["control.operations"]>;
