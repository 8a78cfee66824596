import type { AuditEvent } from "@appdb/contract/routes/control";
import { expect, test } from "vitest";
import { mergeEvents } from "./merge-events.ts";

const event = (id: string): AuditEvent => ({
  id,
  at: "2026-01-02T03:04:05.000Z",
  action: "key.create",
  target: "ci",
  actor: "ann@example.com",
  ip_address: null,
  client: null,
  outcome: "succeeded",
  operation_id: null,
  detail: {},
});
const ids = (events: readonly AuditEvent[]) => events.map(({ id }) => id);

test("streamed events come first, newest at the top", () => {
  expect(ids(mergeEvents([event("3"), event("4")], [event("2"), event("1")]))).toEqual(["4", "3", "2", "1"]);
});

test("an event from both the stream and a page is shown once", () => {
  expect(ids(mergeEvents([event("3"), event("4")], [event("3"), event("2")]))).toEqual(["4", "3", "2"]);
});
