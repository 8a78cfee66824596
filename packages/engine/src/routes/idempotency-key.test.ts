import { expect, test } from "vitest";
import { onceOf } from "../idempotency/request-store.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import type { RouteRequest } from "./route.ts";

const request = (key: string | string[] | undefined, parts: Partial<RouteRequest> = {}): RouteRequest => ({
  body: "{}",
  headers: key === undefined ? {} : { "idempotency-key": key },
  id: "r",
  ...parts,
});

test("a request without a key can run any number of times", () => {
  expect(readIdempotencyKey(request(undefined), "p")).toBeUndefined();
});

test.each([
  ["", "is empty"],
  ["a b", "visible ASCII"],
  ["a, b", "visible ASCII"],
  ["é", "visible ASCII"],
  ["k\u0000", "visible ASCII"],
  ["k".repeat(256), "has 256 characters"],
  [["a", "b"], "occurs several times"],
])("refuses the key %j with its problem", (key, why) => {
  const refusal = expect.objectContaining({ code: "invalid_idempotency_key", message: expect.stringContaining(why) });
  expect(() => readIdempotencyKey(request(key), "p")).toThrow(refusal);
});

test("place and caller are the key's scope; body and URL are its content", () => {
  const one = readIdempotencyKey(request("k"), "main api POST /a");
  expect(one).toMatchObject({ scope: "main api POST /a local", key: "k" });
  expect(readIdempotencyKey(request("k", { caller: { id: "c2", reads_media: true } }), "main api POST /a")?.scope).toBe(
    "main api POST /a c2",
  );
  expect(readIdempotencyKey(request("k", { body: Buffer.from("{}") }), "main api POST /a")).toEqual(one);
  expect(readIdempotencyKey(request("k", { body: "{ }" }), "main api POST /a")?.digest).not.toBe(one?.digest);
  expect(readIdempotencyKey(request("k", { search: "a=1" }), "main api POST /a")?.digest).not.toBe(one?.digest);
});

test("a caller that identifies its request itself needs no header", () => {
  const once = onceOf("jobs", "1", "");
  expect(readIdempotencyKey(request("a b", { once }), "p")).toBe(once);
});
