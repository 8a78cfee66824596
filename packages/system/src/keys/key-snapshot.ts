import { type KeyObject, sign, verify } from "node:crypto";
import type { Role } from "@appdb/contract/permissions";

/** One key as gateways and pods store it: enough to verify the key, but not to use it. */
export interface SnapshotKey {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the full text in hexadecimal. After a rotation also the previous hash, valid until `until_ms`. */
  readonly hashes: readonly { readonly hash: string; readonly until_ms: number | null }[];
  /** Canonical grants; empty for a key that acts as its creator. */
  readonly grants: readonly string[];
  /** Role of the creator, for a key without grants. */
  readonly role: Role | null;
  readonly expires_ms: number | null;
}

/** Keys that may concern one database. Times come from the control plane's database, in ms since 1970. */
export interface KeySnapshot {
  readonly organization: string;
  readonly database: string;
  /** Grows with each change of the organization's keys. */
  readonly version: number;
  readonly issued_ms: number;
  readonly keys: readonly SnapshotKey[];
}

/** `<payload>.<signature>`, both base64url. The signature covers the encoded payload. */
export function signSnapshot(snapshot: KeySnapshot, privateKey: KeyObject): string {
  const payload = Buffer.from(JSON.stringify(snapshot)).toString("base64url");
  return `${payload}.${sign(null, Buffer.from(payload), privateKey).toString("base64url")}`;
}

/** Opens a snapshot that the private key's owner signed (Ed25519). Undefined for any other text. */
export function openSnapshot(text: string, publicKey: KeyObject): KeySnapshot | undefined {
  const [payload, signature, ...rest] = text.split(".");
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined;
  if (!verify(null, Buffer.from(payload), publicKey, Buffer.from(signature, "base64url"))) return undefined;
  // a signed payload was written by signSnapshot
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
}
