import type { AuditEvent } from "@appdb/contract/routes/control";

/** Streamed events, then those of the pages: newest first, without duplicates. */
export function mergeEvents(streamed: readonly AuditEvent[], listed: readonly AuditEvent[]): readonly AuditEvent[] {
  const known = new Set(listed.map((event) => event.id));
  return [...streamed.filter((event) => !known.has(event.id)).toReversed(), ...listed];
}
