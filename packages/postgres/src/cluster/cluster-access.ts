import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/**
 * Role that makes databases, extensions and roles in a cluster. Only the cluster's supervisor connects as this role.
 */
export const SUPERUSER = "postgres";
/**
 * Option of the superuser's connections: unqualified names resolve to the system's schema. Otherwise the owner of a
 * database could redirect such names to own functions by database settings; connection options override those.
 */
export const SYSTEM_NAMES = "-c search_path=pg_catalog,pg_temp";
/** Role that owns the databases and their contents and has no other privileges. The engine connects as this role. */
export const OWNER = "appdb_owner";

/** Group of the roles that people's SQL runs as (reader-role.ts). It has no privileges. */
export const READERS = "appdb_readers";

/** Stored in the cluster's folder, so that moving or copying the cluster includes it. PostgreSQL ignores it. */
const FILE = "access.json";
/** Our own rules file. The file that older versions use stays unchanged for a rollback. */
const RULES_FILE = "appdb_hba.conf";
const PASSWORD_BYTES = 32;
/** Guessing 256 random bits is infeasible; more rounds would only slow down connections. */
const SCRAM_ROUNDS = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

export interface Passwords {
  readonly superuser: string;
  readonly owner: string;
}

/** Access data of a cluster. */
export interface ClusterAccess extends Passwords {
  /** The superuser's previous password, in case the last change was interrupted. */
  readonly former: string | null;
  /** Version of the cluster's roles and owners (prepare-cluster.ts); 0 before the first. */
  readonly prepared: number;
}

/** Makes passwords of 256 random bits each. */
export function makePasswords(): Passwords {
  return { superuser: makePassword(), owner: makePassword() };
}

function makePassword(): string {
  return lazyCrypto().randomBytes(PASSWORD_BYTES).toString("base64url");
}

/** Reads the access data of a cluster. Undefined when no version with passwords ran, or when the file is incomplete. */
export function readAccess(dataFolder: string): ClusterAccess | undefined {
  const text = readIfExists(() => readFileSync(join(dataFolder, FILE), "utf8"));
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isAccess(found) ? found : undefined;
  } catch {
    // cut off by a power cut
    return undefined;
  }
}

function isAccess(found: unknown): found is ClusterAccess {
  if (typeof found !== "object" || found === null) return false;
  const { superuser, owner, former: previous, prepared } = found as Partial<Record<keyof ClusterAccess, unknown>>;
  const areTexts = [superuser, owner].every((password) => typeof password === "string");
  return areTexts && (previous === null || typeof previous === "string") && Number.isInteger(prepared);
}

/** The same for the newest cluster below `folder`, where each folder is named by its major version. */
export function findAccess(folder: string): ClusterAccess | undefined {
  const majors = (readIfExists(() => readdirSync(folder)) ?? []).map(Number).filter(Number.isInteger);
  const newest = majors.sort((one, other) => other - one).at(0);
  return newest === undefined ? undefined : readAccess(join(folder, String(newest)));
}

/** @throws disk_full */
export function writeAccess(dataFolder: string, { superuser, owner, former, prepared }: ClusterAccess): void {
  writePrivateFile(join(dataFolder, FILE), `${JSON.stringify({ superuser, owner, former, prepared })}\n`);
}

/**
 * Writes who may connect to the cluster, and returns the file's path: both roles, members of the owner, which are
 * services, and readers. All must send a password. `type` and `address` describe the system's local connections (local-address.ts).
 */
export function writeRules(dataFolder: string, [type, address]: readonly [type: string, address: string]): string {
  const path = join(dataFolder, RULES_FILE);
  const roles = [SUPERUSER, OWNER, `+${OWNER}`, `+${READERS}`];
  writeFileSync(path, roles.map((role) => `${type} all ${role} ${address} scram-sha-256\n`).join(""), { mode: 0o600 });
  return path;
}

/** SCRAM verifier of a password, so that neither PostgreSQL nor its log sees the password. */
export function scramVerifier(password: string): string {
  const { createHash, createHmac, pbkdf2Sync, randomBytes } = lazyCrypto();
  const salt = randomBytes(SALT_BYTES);
  const salted = pbkdf2Sync(password, salt, SCRAM_ROUNDS, KEY_BYTES, "sha256");
  const keyOf = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${SCRAM_ROUNDS}:${salt.toString("base64")}$${stored}:${keyOf("Server Key").toString("base64")}`;
}
