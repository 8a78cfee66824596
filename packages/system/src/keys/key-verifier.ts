import type { KeyObject } from "node:crypto";
import { type Grant, type GrantNeed, grantsAllow, parseGrant } from "@appdb/contract/control/grants";
import { readKeyText } from "@appdb/contract/control/key-text";
import type { Role } from "@appdb/contract/permissions";
import { createHashCompare, hashKey, toHashBytes } from "./key-hash.ts";
import { openSnapshot, type SnapshotKey } from "./key-snapshot.ts";

/** How long a snapshot stays valid after the control plane's last message. */
export const SNAPSHOT_LIFE_MS = 24 * 3_600_000;

export interface VerifierClock {
  /** ms since 1970. Read once for a stored snapshot. The clock may be set. */
  now(): number;
  /** ms since an arbitrary start; never goes back and never jumps. */
  monotonic(): number;
}

export interface KeyVerifierOptions {
  /** Public key of the control plane: verifies snapshots and cannot make them. */
  readonly public_key: KeyObject;
  readonly organization: string;
  readonly database: string;
  readonly clock: VerifierClock;
}

export interface VerifiedKey {
  readonly id: string;
  readonly name: string;
  /** Undefined for a key that acts as its creator. */
  readonly grants: readonly Grant[] | undefined;
  readonly role: Role | null;
}

export type Applied = "applied" | "older" | "foreign" | "forged";
export type Verified =
  | { readonly outcome: "good"; readonly key: VerifiedKey }
  /** `stale`: no message for 24 h, or ever. All requests are refused, and the key is not at fault. */
  | { readonly outcome: "bad" | "stale" };

/**
 * Verifies keys of one database in memory with the control plane's last snapshot. It uses the control plane's time: the
 * snapshot's timestamp plus the elapsed monotonic time. Setting the local clock therefore neither expires keys early
 * nor extends them.
 */
export interface KeyVerifier {
  /** Applies a snapshot that just arrived, or (`kept`) one from disk, whose age the wall clock determines. */
  apply(text: string, source: "live" | "kept"): Applied;
  verify(text: string): Verified;
}

interface HeldKey extends VerifiedKey {
  readonly hashes: readonly { readonly bytes: Buffer; readonly until_ms: number }[];
  readonly expires_ms: number;
}

interface Held {
  readonly version: number;
  readonly issued_ms: number;
  /** Offset of the control plane's time from our monotonic clock. */
  readonly ahead_ms: number;
  readonly keys: ReadonlyMap<string, HeldKey>;
}

const BAD = { outcome: "bad" } as const;
const STALE = { outcome: "stale" } as const;

export function createKeyVerifier(options: KeyVerifierOptions): KeyVerifier {
  const { clock } = options;
  const isSame = createHashCompare();
  let held: Held | undefined;
  return {
    apply(text, source) {
      const snapshot = openSnapshot(text, options.public_key);
      if (snapshot === undefined) return "forged";
      const { organization, database, version, issued_ms: issuedMs } = snapshot;
      if (organization !== options.organization || database !== options.database) return "foreign";
      if (held !== undefined && (version < held.version || (version === held.version && issuedMs < held.issued_ms))) {
        return "older";
      }
      const age = source === "live" ? 0 : Math.max(0, clock.now() - issuedMs);
      const keys = new Map(snapshot.keys.map((key) => [key.id, toHeld(key)]));
      held = { version, issued_ms: issuedMs, ahead_ms: issuedMs + age - clock.monotonic(), keys };
      return "applied";
    },
    verify(text) {
      if (held === undefined) return STALE;
      const now = clock.monotonic() + held.ahead_ms;
      if (now - held.issued_ms > SNAPSHOT_LIFE_MS) return STALE;
      const read = readKeyText(text);
      const key = read === undefined ? undefined : held.keys.get(read.id);
      if (key === undefined || key.expires_ms <= now) return BAD;
      const received = hashKey(text);
      const isValid = key.hashes.some(({ bytes, until_ms: untilMs }) => untilMs > now && isSame(received, bytes));
      return isValid ? { outcome: "good", key } : BAD;
    },
  };
}

/** Whether a key allows an action on a service. Keys that act as a member have the member's permissions. */
export function keyAllows(key: VerifiedKey, need: GrantNeed): boolean {
  return key.grants === undefined ? key.role !== null : grantsAllow(key.grants, need);
}

function toHeld(key: SnapshotKey): HeldKey {
  return {
    id: key.id,
    name: key.name,
    grants: key.grants.length === 0 ? undefined : key.grants.map(parseGrant),
    role: key.role,
    hashes: key.hashes.map(({ hash, until_ms: untilMs }) => ({
      bytes: toHashBytes(hash),
      until_ms: untilMs ?? Infinity,
    })),
    expires_ms: key.expires_ms ?? Infinity,
  };
}
