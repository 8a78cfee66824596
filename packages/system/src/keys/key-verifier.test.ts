import { generateKeyPairSync } from "node:crypto";
import { writeKeyText } from "@appdb/contract/control/key-text";
import { beforeEach, describe, expect, test } from "vitest";
import { hashKey } from "./key-hash.ts";
import { type KeySnapshot, type SnapshotKey, signSnapshot } from "./key-snapshot.ts";
import { createKeyVerifier, type KeyVerifier, keyAllows } from "./key-verifier.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 5, 1, 12);
const PAIR = generateKeyPairSync("ed25519");
const TEXT = writeKeyText({ id: "abcdefghijkl", secret: "s".repeat(43) });
const OTHER = writeKeyText({ id: "abcdefghijkl", secret: "t".repeat(43) });

const KEY: SnapshotKey = {
  id: "abcdefghijkl",
  name: "ci",
  hashes: [{ hash: hashKey(TEXT), until_ms: null }],
  grants: ["access:cloud://acme:main/services/ingest"],
  role: null,
  expires_ms: null,
};
const snapshot = (over: Partial<KeySnapshot> = {}): KeySnapshot => ({
  organization: "acme",
  database: "main",
  version: 1,
  issued_ms: NOON,
  keys: [KEY],
  ...over,
});
const signed = (over: Partial<KeySnapshot> = {}) => signSnapshot(snapshot(over), PAIR.privateKey);

/** The pod's clocks. Tests set the wall clock; `pass` advances the monotonic clock. */
let wall = NOON;
let passed = 5_000;
let verifier: KeyVerifier;
const pass = (ms: number) => {
  wall += ms;
  passed += ms;
};

const open = () =>
  createKeyVerifier({
    public_key: PAIR.publicKey,
    organization: "acme",
    database: "main",
    clock: { now: () => wall, monotonic: () => passed },
  });

beforeEach(() => {
  wall = NOON;
  passed = 5_000;
  verifier = open();
});

const outcome = (text = TEXT) => verifier.verify(text).outcome;

describe("key verifier", () => {
  test("accepts the text of a key and returns its grants", () => {
    expect(verifier.apply(signed(), "live")).toBe("applied");
    const found = verifier.verify(TEXT);
    if (found.outcome !== "good") throw new Error(found.outcome);
    const need = { verb: "access", organization: "acme", database: "main", service: "ingest" } as const;
    expect(found.key.name).toBe("ci");
    expect(keyAllows(found.key, need)).toBe(true);
    expect(keyAllows(found.key, { ...need, service: "other" })).toBe(false);
    expect(keyAllows(found.key, { ...need, verb: "manage" })).toBe(false);
    expect(keyAllows(found.key, { ...need, organization: "other" })).toBe(false);
  });

  test.each([
    OTHER,
    "",
    "sk_",
    `${TEXT} `,
    ` ${TEXT}`,
    TEXT.toUpperCase(),
    TEXT.replace("abc", "xyz"),
    "x".repeat(100_000),
  ])("refuses another text (%#)", (text) => {
    verifier.apply(signed(), "live");
    expect(outcome(text)).toBe("bad");
  });

  test("a key without grants acts as a member", () => {
    verifier.apply(signed({ keys: [{ ...KEY, grants: [], role: "member" }] }), "live");
    const found = verifier.verify(TEXT);
    if (found.outcome !== "good") throw new Error(found.outcome);
    expect(keyAllows(found.key, { verb: "access", organization: "acme", database: "main", service: "x" })).toBe(true);
  });

  test("refuses every key before the first snapshot", () => {
    expect(outcome()).toBe("stale");
  });

  test("refuses a key missing in the next snapshot and ignores older snapshots", () => {
    verifier.apply(signed(), "live");
    expect(verifier.apply(signed({ version: 2, keys: [] }), "live")).toBe("applied");
    expect(outcome()).toBe("bad");
    expect(verifier.apply(signed({ issued_ms: NOON + HOUR }), "live")).toBe("older");
    expect(verifier.apply(signed(), "kept")).toBe("older");
    expect(outcome()).toBe("bad");
  });

  test("rejects a snapshot that is foreign, changed or wrongly signed", () => {
    expect(verifier.apply(signed({ database: "other" }), "live")).toBe("foreign");
    expect(verifier.apply(signed({ organization: "other" }), "live")).toBe("foreign");
    const [payload = "", signature = ""] = signed().split(".");
    const changed = Buffer.from(JSON.stringify(snapshot({ version: 9 }))).toString("base64url");
    const stranger = signSnapshot(snapshot(), generateKeyPairSync("ed25519").privateKey);
    for (const text of [
      `${changed}.${signature}`,
      payload,
      `${payload}.`,
      `.${signature}`,
      "",
      `${signed()}.x`,
      stranger,
    ]) {
      expect(verifier.apply(text, "live")).toBe("forged");
    }
    expect(outcome()).toBe("stale");
  });

  test("accepts a snapshot for 24 hours and extends it when repeated", () => {
    verifier.apply(signed(), "live");
    pass(24 * HOUR);
    expect(outcome()).toBe("good");
    pass(1);
    expect(outcome()).toBe("stale");
    expect(verifier.apply(signed({ issued_ms: NOON + 24 * HOUR }), "live")).toBe("applied");
    expect(outcome()).toBe("good");
  });

  test("derives a stored snapshot's age from the wall clock, at least zero", () => {
    wall = NOON + 20 * HOUR;
    verifier.apply(signed(), "kept");
    expect(outcome()).toBe("good");
    pass(4 * HOUR + 1);
    expect(outcome()).toBe("stale");
    wall = NOON - 400 * HOUR;
    verifier = open();
    verifier.apply(signed(), "kept");
    pass(24 * HOUR + 1);
    expect(outcome()).toBe("stale");
  });

  test("setting the wall clock neither expires nor extends a key", () => {
    verifier.apply(signed({ keys: [{ ...KEY, expires_ms: NOON + HOUR }] }), "live");
    wall = NOON + 9_000 * HOUR;
    expect(outcome()).toBe("good");
    wall = NOON - 9_000 * HOUR;
    pass(HOUR - 1);
    expect(outcome()).toBe("good");
    pass(1);
    expect(outcome()).toBe("bad");
  });

  test("accepts the previous text until the rotation overlap ends", () => {
    const hashes = [
      { hash: hashKey(OTHER), until_ms: null },
      { hash: hashKey(TEXT), until_ms: NOON + HOUR },
    ];
    verifier.apply(signed({ keys: [{ ...KEY, hashes }] }), "live");
    expect([outcome(TEXT), outcome(OTHER)]).toEqual(["good", "good"]);
    pass(HOUR);
    expect([outcome(TEXT), outcome(OTHER)]).toEqual(["bad", "good"]);
  });
});
