import type { AuditEvent } from "@appdb/contract/routes/control";

/** Events as they came over the stream, before those of the pages, newest first and each once. */
export function mergeEvents(streamed: readonly AuditEvent[], listed: readonly AuditEvent[]): readonly AuditEvent[] {
  const known = new Set(listed.map((event) => event.id));
  return [...streamed.filter((event) => !known.has(event.id)).toReversed(), ...listed];
}
