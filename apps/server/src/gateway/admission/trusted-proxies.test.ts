import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createReadForwarded } from "./trusted-proxies.ts";

function ask(proxies: readonly string[], from: string, headers: IncomingHttpHeaders) {
  const req = { headers, socket: { remoteAddress: from } } as IncomingMessage;
  return createReadForwarded(proxies)(req, false, "asked.test");
}

const SAID = {
  "x-forwarded-for": "6.6.6.6, 203.0.113.7",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "d0.apps.test",
};

test("the headers of a configured proxy are trusted", () => {
  const told = { address: "203.0.113.7", is_secure: true, host: "d0.apps.test" };
  for (const [proxy, from] of [
    ["loopback", "127.0.0.1"],
    ["loopback", "::ffff:127.0.0.1"],
    ["loopback", "::1"],
    ["10.1.0.0/16", "10.1.2.3"],
    ["uniquelocal", "192.168.7.7"],
    ["2001:db8::/32", "2001:db8::1"],
    ["198.51.100.1", "198.51.100.1"],
  ] as const) {
    expect(ask([proxy], from, SAID), proxy).toEqual(told);
  }
});

test("other senders are not trusted", () => {
  expect(ask([], "127.0.0.1", SAID)).toBeUndefined();
  expect(ask(["loopback"], "203.0.113.9", SAID)).toBeUndefined();
  expect(ask(["10.1.0.0/16"], "10.2.0.1", SAID)).toBeUndefined();
});

test("the client is the first address from the right that is not a trusted proxy", () => {
  const via = (list: string) => ask(["loopback", "10.0.0.0/8"], "127.0.0.1", { "x-forwarded-for": list })?.address;
  expect(via("1.1.1.1, 203.0.113.7, 10.0.0.5, 10.0.0.6")).toBe("203.0.113.7");
  expect(via("10.0.0.5")).toBe("10.0.0.5");
  expect(via("1.1.1.1, junk, 10.0.0.6")).toBe("10.0.0.6");
  expect(via("")).toBe("127.0.0.1");
});

test("an invalid host or scheme is ignored", () => {
  const headers = { "x-forwarded-host": "a/b", "x-forwarded-proto": "gopher" };
  expect(ask(["loopback"], "127.0.0.1", headers)).toEqual({
    address: "127.0.0.1",
    is_secure: false,
    host: "asked.test",
  });
});
