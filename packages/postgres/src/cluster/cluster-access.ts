import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/** Who makes databases, extensions and roles in a cluster. Its supervisor alone connects as this role. */
export const SUPERUSER = "postgres";
/** Who owns the databases and all that is in them, and can do nothing beyond. The engine connects as this role. */
export const OWNER = "appdb_owner";

/** In a cluster's own folder, so that whoever moves or copies the cluster takes it along. PostgreSQL does not mind. */
const FILE = "access.json";
/** Of ours alone: the file that an older version goes by stays as it is, which is its way back. */
const RULES_FILE = "appdb_hba.conf";
const PASSWORD_BYTES = 32;
/** Guessing a password of 256 random bits is hopeless as it is; more rounds would only slow each connection down. */
const SCRAM_ROUNDS = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

export interface Passwords {
  readonly superuser: string;
  readonly owner: string;
}

/** How a cluster is entered. */
export interface ClusterAccess extends Passwords {
  /** The superuser's password before, should the last change have been cut off. */
  readonly former: string | null;
  /** Number of the arrangement of roles and owners that the cluster has (prepare-cluster.ts); 0 before the first. */
  readonly prepared: number;
}

/** New ones, of 256 random bits each. */
export function makePasswords(): Passwords {
  return { superuser: makePassword(), owner: makePassword() };
}

function makePassword(): string {
  return lazyCrypto().randomBytes(PASSWORD_BYTES).toString("base64url");
}

/** What the folder of a cluster says; undefined where no version that has passwords ran, or what it wrote is not whole. */
export function readAccess(dataFolder: string): ClusterAccess | undefined {
  const text = readIfExists(() => readFileSync(join(dataFolder, FILE), "utf8"));
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isAccess(found) ? found : undefined;
  } catch {
    // cut off as the power was
    return undefined;
  }
}

function isAccess(found: unknown): found is ClusterAccess {
  if (typeof found !== "object" || found === null) return false;
  const { superuser, owner, former, prepared } = found as Partial<Record<keyof ClusterAccess, unknown>>;
  const areTexts = [superuser, owner].every((password) => typeof password === "string");
  return areTexts && (former === null || typeof former === "string") && Number.isInteger(prepared);
}

/** The same for the newest cluster below `folder`, each in a folder that is named by its major version. */
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
 * Writes who may connect to the cluster, and gives the file's path: those two roles, and members of the owner, which services are.
 * Each shows a password. `type` and `address` are how the system reaches a server of its own (local-address.ts).
 */
export function writeRules(dataFolder: string, [type, address]: readonly [type: string, address: string]): string {
  const path = join(dataFolder, RULES_FILE);
  const roles = [SUPERUSER, OWNER, `+${OWNER}`];
  writeFileSync(path, roles.map((role) => `${type} all ${role} ${address} scram-sha-256\n`).join(""), { mode: 0o600 });
  return path;
}

/** What PostgreSQL keeps of a password, in its own form: it never sees the password itself, nor does its log. */
export function scramVerifier(password: string): string {
  const { createHash, createHmac, pbkdf2Sync, randomBytes } = lazyCrypto();
  const salt = randomBytes(SALT_BYTES);
  const salted = pbkdf2Sync(password, salt, SCRAM_ROUNDS, KEY_BYTES, "sha256");
  const keyOf = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${SCRAM_ROUNDS}:${salt.toString("base64")}$${stored}:${keyOf("Server Key").toString("base64")}`;
}
