import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { createStrangers } from "./strangers.ts";

/** The parts of a response that the count uses. */
function aResponse() {
  const res = Object.assign(new EventEmitter(), { is_destroyed: false, destroy: () => (res.is_destroyed = true) });
  return res;
}

const exchangeOf = (clientAddress: string, res = aResponse()) => ({
  res: res as never,
  client_address: clientAddress,
  database: { organization: "acme" } as never,
});

function begin(strangers: ReturnType<typeof createStrangers>, clientAddress: string, organization = "acme") {
  const res = aResponse();
  strangers.begin({ client_address: clientAddress, res: res as never, database: { organization } as never });
  return res;
}

const REFUSED = expect.objectContaining({ code: "overloaded" });

test("one address may have 32 concurrent requests without a key", () => {
  const strangers = createStrangers(60_000);
  const held = Array.from({ length: 32 }, () => begin(strangers, "192.0.2.1"));
  expect(() => begin(strangers, "192.0.2.1")).toThrow(REFUSED);
  begin(strangers, "192.0.2.2");
  held[0]?.emit("close");
  begin(strangers, "192.0.2.1");
  expect(() => begin(strangers, "192.0.2.1")).toThrow(REFUSED);
});

test("addresses of one IPv6 network count as one", () => {
  const strangers = createStrangers(60_000);
  for (let at = 0; at < 32; at += 1) begin(strangers, `2001:db8:0:1::${at.toString(16)}`);
  expect(() => begin(strangers, "2001:db8:0:1:ffff::1")).toThrow(REFUSED);
  begin(strangers, "2001:db8:0:2::1");
});

test("all addresses together may have 512 concurrent requests without a key", () => {
  const strangers = createStrangers(60_000);
  for (let at = 0; at < 512; at += 1) begin(strangers, `192.0.2.${at % 64}`, `org-${at % 8}`);
  expect(() => begin(strangers, "198.51.100.1")).toThrow(REFUSED);
});

test("one organization's requests leave room for those of others", () => {
  const strangers = createStrangers(60_000);
  for (let at = 0; at < 128; at += 1) begin(strangers, `192.0.2.${at % 64}`, "mallory");
  expect(() => begin(strangers, "198.51.100.1", "mallory")).toThrow(REFUSED);
  begin(strangers, "198.51.100.1", "acme");
});

test("a request whose answer does not leave in time is ended and no longer counts", async () => {
  const strangers = createStrangers(5);
  const held = Array.from({ length: 32 }, () => begin(strangers, "192.0.2.1"));
  await expect.poll(() => held.every(({ is_destroyed: isDestroyed }) => isDestroyed)).toBe(true);
  begin(strangers, "192.0.2.1");
  // the late end of an ended request is not counted again
  held[0]?.emit("close");
  for (let at = 0; at < 31; at += 1) begin(strangers, "192.0.2.1");
  expect(() => begin(strangers, "192.0.2.1")).toThrow(REFUSED);
});

test("signed addresses wait for a place, and one that was accepted frees it", async () => {
  const strangers = createStrangers(60_000);
  const places = await Promise.all(Array.from({ length: 32 }, () => strangers.beginSoon(exchangeOf("192.0.2.1"))));
  const waiting = Array.from({ length: 128 }, () => strangers.beginSoon(exchangeOf("192.0.2.1")));
  await expect(strangers.beginSoon(exchangeOf("192.0.2.1"))).rejects.toEqual(REFUSED);
  await strangers.beginSoon(exchangeOf("192.0.2.2"));
  places[0]?.();
  places[0]?.();
  await waiting[0];
  expect(() => begin(strangers, "192.0.2.1")).toThrow(REFUSED);
  for (const place of places) place();
  await Promise.all(waiting.slice(1, 32));
  // The others are refused after the test.
  void Promise.allSettled(waiting);
});

test("a signed address waits only for a moment", async () => {
  const strangers = createStrangers(60_000, 5);
  for (let at = 0; at < 32; at += 1) begin(strangers, "192.0.2.1");
  await expect(strangers.beginSoon(exchangeOf("192.0.2.1"))).rejects.toEqual(REFUSED);
});
