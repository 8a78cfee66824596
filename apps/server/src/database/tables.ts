import type { Role } from "@appdb/contract/permissions";
import type { ColumnType, Generated } from "kysely";
import type { DatabaseTables } from "./database-tables.ts";
import type { ResourceTables } from "./resource-tables.ts";
import type { ServiceTables } from "./service-tables.ts";

/** The database sets it by default. */
type Made = ColumnType<Date, Date | undefined, Date>;

interface UserTable {
  id: string;
  name: string;
  email: string;
  email_verified: boolean;
  image: string | null;
  created_at: Made;
  updated_at: Made;
}

interface SessionTable {
  id: string;
  user_id: string;
  token_hash: string;
  client: string;
  ip_address: string | null;
  user_agent: string | null;
  expires_at: Date;
  created_at: Made;
  updated_at: Made;
  authenticated_at: Made;
}

interface AccountTable {
  id: string;
  user_id: string;
  provider_id: string;
  password: string | null;
  updated_at: Made;
}

interface VerificationTable {
  id: string;
  value: string;
}

interface SecondFactorTable {
  user_id: string;
  master_key_id: string;
  wrapped: Buffer;
  enabled_at: Date | null;
  last_step: Generated<number>;
  created_at: Made;
}

interface RecoveryCodeTable {
  user_id: string;
  code_hash: Buffer;
}

interface DeviceCodeTable {
  id: string;
  device_code_hash: string;
  user_code: string;
  user_id: string | null;
  client_id: string | null;
  status: string;
  expires_at: Date;
  created_at: Made;
}

interface DeviceRequestTable {
  user_code: string;
  ip_address: string | null;
  user_agent: string | null;
}

interface AttemptTable {
  kind: string;
  subject: Buffer;
  count: number;
  since: Made;
}

interface FirstAccountTable {
  is_only: Generated<boolean>;
  token_hash: Buffer;
  created_at: Made;
}

interface OrganizationTable {
  id: Generated<string>;
  name: string;
  display_name: string;
  database_quota: number;
  /** Null if an older version created it. */
  created_by: ColumnType<string | null, string | null | undefined, string | null>;
  version: Generated<number>;
  created_at: Made;
  /** When the organization was suspended. Null if it is not. */
  suspended_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  suspended_for: ColumnType<string | null, string | null | undefined, string | null>;
}

interface MemberTable {
  id: Generated<string>;
  org_id: string;
  user_id: string;
  role: Role;
  created_at: Made;
}

interface InvitationTable {
  id: Generated<string>;
  org_id: string;
  email: string;
  role: Role;
  token_hash: Buffer;
  invited_by: string | null;
  created_at: Made;
  expires_at: Date;
}

interface SessionOrgTable {
  session_id: string;
  org_id: string;
  at: Made;
}

interface IdempotencyTable {
  principal: string;
  route: string;
  key: string;
  request_hash: Buffer;
  status: number;
  answer: Buffer;
  created_at: Made;
}

/** The tables used in statements. migrations/ defines all tables. */
export interface Tables extends ResourceTables, DatabaseTables, ServiceTables {
  "identity.users": UserTable;
  "identity.sessions": SessionTable;
  "identity.accounts": AccountTable;
  "identity.verifications": VerificationTable;
  "identity.second_factors": SecondFactorTable;
  "identity.recovery_codes": RecoveryCodeTable;
  "identity.device_codes": DeviceCodeTable;
  "identity.device_requests": DeviceRequestTable;
  "identity.attempts": AttemptTable;
  "identity.first_account": FirstAccountTable;
  "control.organizations": OrganizationTable;
  "control.members": MemberTable;
  "control.invitations": InvitationTable;
  "control.session_orgs": SessionOrgTable;
  "control.idempotency": IdempotencyTable;
}
