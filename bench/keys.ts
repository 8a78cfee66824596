import { generateKeyPairSync, hash, randomBytes } from "node:crypto";
import { writeKeyText } from "@appdb/contract/control/key-text";
import { hashKey } from "@appdb/system/keys/key-hash";
import { type SnapshotKey, signSnapshot } from "@appdb/system/keys/key-snapshot";
import { createKeyVerifier } from "@appdb/system/keys/key-verifier";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";

const KEYS = 1_000;
const ROUND = 200_000;
const SECRET_CHARACTERS = 43;

/**
 * Key verification of gateway and pods, compared with SHA-256 of the same texts: one core, one database with a thousand
 * keys.
 */
export async function measureKeys({ runs, say }: Bench): Promise<Measure[]> {
  const texts = Array.from({ length: KEYS }, (_, at) =>
    writeKeyText({ id: at.toString(36).padStart(12, "0"), secret: randomBytes(32).toString("base64url") }),
  );
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const verifier = createKeyVerifier({
    public_key: publicKey,
    organization: "acme",
    database: "main",
    clock: { now: Date.now, monotonic: () => performance.now() },
  });
  const snapshot = {
    organization: "acme",
    database: "main",
    version: 1,
    issued_ms: Date.now(),
    keys: texts.map(toKey),
  };
  verifier.apply(signSnapshot(snapshot, privateKey), "live");
  const wrong = texts.map((text) => otherSecret(text));

  const good: number[] = [];
  const bad: number[] = [];
  const bare: number[] = [];
  const verify = (text: string, outcome: string) => {
    if (verifier.verify(text).outcome !== outcome) throw new Error(`A key that should be ${outcome} was not.`);
  };
  for (let run = 0; run < runs; run += 1) {
    say(`keys: run ${run + 1}`);
    bare.push(rate(texts, (text) => void hash("sha256", text, "hex")));
    good.push(rate(texts, (text) => verify(text, "good")));
    bad.push(rate(wrong, (text) => verify(text, "bad")));
  }
  return [
    { name: "keys verified, one core", unit: "/s", ours: good, limit: undefined, reach: { at_least: 300_000 } },
    { name: "keys verified against bare SHA-256", unit: "/s", ours: good, limit: bare },
    { name: "wrong keys refused, one core", unit: "/s", ours: bad, limit: undefined, reach: { at_least: 300_000 } },
  ];
}

function toKey(text: string): SnapshotKey {
  const id = text.split("_")[1] ?? "";
  const hashes = [{ hash: hashKey(text), until_ms: null }];
  return { id, name: id, hashes, grants: [], role: "member", expires_ms: null };
}

/** The key with a different first character of its secret. */
function otherSecret(text: string): string {
  const at = text.length - SECRET_CHARACTERS;
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}

/** Calls per second. */
function rate(texts: readonly string[], call: (text: string) => void): number {
  const begun = performance.now();
  for (let at = 0; at < ROUND; at += 1) call(texts[at % texts.length] ?? "");
  return ROUND / ((performance.now() - begun) / 1_000);
}
