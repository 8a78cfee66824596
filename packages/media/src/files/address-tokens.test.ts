import { expect, test } from "vitest";
import { AddressTokens } from "./address-tokens.ts";

const SECRET = Buffer.alloc(32, 7);
const REFERENCE = { store: "home", key: `00/${"0".repeat(64)}.png`, type: "image/png", name: "Ä b.png" };
const HOUR = 3_600;

function tokensAt(now: () => number, secret = SECRET): AddressTokens {
  return new AddressTokens(secret, HOUR, now);
}

test("a token gives back the reference it was made of, without its size", () => {
  const tokens = tokensAt(() => 0);
  const cell = tokens.read(tokens.make({ ...REFERENCE, bytes: 7, width: 1, height: 2, mode: "RGB" }));
  expect(JSON.parse(cell)).toEqual(REFERENCE);
});

test("a token shows nothing of the reference", () => {
  const store = "file:///tmp/stores/of/a/person";
  const text = Buffer.from(tokensAt(() => 0).make({ ...REFERENCE, store }), "base64url").toString("latin1");
  for (const part of [store, "store", REFERENCE.key, "b.png"]) expect(text).not.toContain(part);
});

test("equal files have equal tokens for half of the time", () => {
  let now = 0;
  const tokens = tokensAt(() => now);
  const first = tokens.make(REFERENCE);
  now = (HOUR / 2 - 1) * 1_000;
  expect(tokens.make(REFERENCE)).toBe(first);
  now = (HOUR / 2 + 1) * 1_000;
  expect(tokens.make(REFERENCE)).not.toBe(first);
});

test("a token is valid for its time and no longer than half of it more", () => {
  let now = 1_700_000_000_000;
  const tokens = tokensAt(() => now);
  const token = tokens.make(REFERENCE);
  now += HOUR * 1_000;
  expect(() => tokens.read(token)).not.toThrow();
  now += (HOUR / 2) * 1_000 + 1_000;
  expect(() => tokens.read(token)).toThrow(expect.objectContaining({ code: "media_address_invalid" }));
});

test("a token with any changed character is refused", () => {
  const tokens = tokensAt(() => 0);
  const token = tokens.make(REFERENCE);
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
    // The last character may hold bits that the text does not use.
    if (Buffer.from(changed, "base64url").equals(Buffer.from(token, "base64url"))) continue;
    expect(() => tokens.read(changed)).toThrow(expect.objectContaining({ code: "media_address_invalid" }));
  }
});

test.each(["", "x", "A".repeat(30), "A".repeat(9_000), "%00", "../../etc/passwd"])("%j is not a token", (token) => {
  expect(() => tokensAt(() => 0).read(token)).toThrow(expect.objectContaining({ code: "media_address_invalid" }));
});

test("a token of another database is refused", () => {
  const token = tokensAt(() => 0, Buffer.alloc(32, 8)).make(REFERENCE);
  expect(() => tokensAt(() => 0).read(token)).toThrow(expect.objectContaining({ code: "media_address_invalid" }));
});
