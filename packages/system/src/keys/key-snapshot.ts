import { type KeyObject, sign, verify } from "node:crypto";
import type { Role } from "@appdb/contract/permissions";

/** One key as gateway and pods know it: enough to check it, nothing that lets anybody in. */
export interface SnapshotKey {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the whole text in hexadecimal; after a rotation also the former one, until `until_ms`. */
  readonly hashes: readonly { readonly hash: string; readonly until_ms: number | null }[];
  /** Canonical texts; empty for a key that acts as a person. */
  readonly grants: readonly string[];
  /** Of the person that a key without grants acts as. */
  readonly role: Role | null;
  readonly expires_ms: number | null;
}

/** The keys that may concern one database. Times are of the control plane's database, in ms since 1970. */
export interface KeySnapshot {
  readonly organization: string;
  readonly database: string;
  /** Grows with every change of the organization's keys. */
  readonly version: number;
  readonly issued_ms: number;
  readonly keys: readonly SnapshotKey[];
}

/** `<payload>.<signature>`, both base64url: the signature is over the payload as it stands. */
export function signSnapshot(snapshot: KeySnapshot, privateKey: KeyObject): string {
  const payload = Buffer.from(JSON.stringify(snapshot)).toString("base64url");
  return `${payload}.${sign(null, Buffer.from(payload), privateKey).toString("base64url")}`;
}

/** The snapshot of a text that the holder of the private key has signed (Ed25519); undefined for any other text. */
export function openSnapshot(text: string, publicKey: KeyObject): KeySnapshot | undefined {
  const [payload, signature, ...rest] = text.split(".");
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined;
  if (!verify(null, Buffer.from(payload), publicKey, Buffer.from(signature, "base64url"))) return undefined;
  // what carries our signature was written by signSnapshot
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
}
