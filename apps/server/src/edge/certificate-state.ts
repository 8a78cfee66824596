import { X509Certificate } from "node:crypto";
import type { HostCertificate } from "@appdb/contract/routes/control-services";
import { sql } from "kysely";
import type { ServerConfig } from "../config/config.ts";

/** Columns of `control.gateway_certificates` in JSON. */
export interface CertificateRow {
  readonly host: string;
  readonly chain: string | null;
  readonly failure: string | null;
  /** ISO 8601 in UTC. */
  readonly next_order_at: string;
}

/** Null if nothing was ordered for the database yet. */
export function selectCertificate(databaseId: string) {
  return sql<CertificateRow | null>`(
    select jsonb_build_object('host', c.host, 'chain', c.chain, 'failure', c.failure,
      'next_order_at', to_char(c.next_order_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from control.gateway_certificates c where c.database_id = ${sql.ref(databaseId)})`;
}

/** The state of a database's certificate. Null if none is ordered. Pure. */
export function certificateState(
  { gateway }: Pick<ServerConfig, "gateway">,
  label: string,
  row: CertificateRow | null,
  now: number,
): HostCertificate | null {
  if (gateway.domain === undefined || gateway.acme === undefined) return null;
  const own = row?.host === `${label}.${gateway.domain}` ? row : null;
  const failed = { error: own?.failure ?? null, next_order_at: own?.failure == null ? null : own.next_order_at };
  if (own?.chain == null) return { state: "missing", issued_at: null, expires_at: null, ...failed };
  const { validFrom, validTo } = new X509Certificate(own.chain);
  const toIso = (text: string) => new Date(text).toISOString();
  const state = Date.parse(validTo) <= now ? "ended" : "good";
  return { state, issued_at: toIso(validFrom), expires_at: toIso(validTo), ...failed };
}
