import { randomBytes } from "node:crypto";
import { accessSync, constants, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError, appError } from "@appdb/contract/errors";
import { homeError } from "@appdb/contract/home-error";
import { findPodOfOther } from "@appdb/pods/driver/foreign-pods";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { copiedHome, recordPlace, refuseCopiedHome } from "@appdb/system/processes/home-copy";
import { acquireHomeLock, type HomeLock } from "@appdb/system/processes/home-lock";
import { type LockResult, tryLock } from "@appdb/system/processes/numbered-lock";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { Secret } from "@appdb/system/secret";
import * as z from "zod";
import { SERVER_PATHS, type ServerConfig, type ServerRole } from "./config.ts";

const SECRET_BYTES = 32;

/** Creates the server's folder in the home and returns the home's real path. @throws home_not_writable, disk_full */
export function openServerHome(home: string): string {
  try {
    makePrivateFolder(join(home, "server"));
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
    return realpathSync(home);
  } catch (cause) {
    throw homeError(home, cause);
  }
}

/**
 * Locks the home until this process ends. The home's PostgreSQL has one owner, an external one has one owner per role.
 * Two reconcilers of a home would end each other's pods, and two gateways each other.
 * @throws daemon_busy when another server has the home; home_copied; disk_full, home_not_writable
 */
export function lockHome(home: string, { database, roles }: Pick<ServerConfig, "database" | "roles">): void {
  const folder = join(home, SERVER_PATHS.locks);
  try {
    refuseCopiedHome(home, folder, "server");
    const pod = findPodOfOther(join(home, SERVER_PATHS.pods), home);
    if (pod !== undefined) throw copiedHome(home, { ...pod, program: "server" });
    if (database.url === undefined) requireLock(home, acquireHomeLock(folder), "");
    for (const role of roles) requireLock(home, tryLock(folder, roleLock(role)), ` with the role ${role}`);
    recordPlace(home, folder);
  } catch (error) {
    throw error instanceof AppError ? error : homeError(home, error);
  }
}

/** Prefix of the lock's files, by role of the server. */
export function roleLock(role: ServerRole): string {
  return `role-${role}.`;
}

function requireLock(home: string, lock: HomeLock | LockResult, how: string): void {
  if (lock.outcome === "acquired") return;
  throw appError("daemon_busy", {
    detail: `A server of the home ${home} is already running${how}: process ${lock.owner.pid}.`,
    hint: "Stop it, or set SERVICE_HOME to another folder. Several servers on one PostgreSQL need separate homes, or different SERVICE_ROLES.",
    meta: { home, pid: lock.owner.pid },
  });
}

/** Reads a secret of the home, or creates it. Only its owner may read the file. */
export function openSecret(home: string, file: string, encoding: "base64" | "base64url"): Secret {
  const path = join(home, file);
  const stored = findSecret(home, file);
  if (stored !== undefined) return stored;
  const secret = randomBytes(SECRET_BYTES).toString(encoding);
  writePrivateFile(path, `${secret}\n`);
  return new Secret(secret);
}

/** Reads a secret of the home. Undefined if it does not exist. */
export function findSecret(home: string, file: string): Secret | undefined {
  const stored = readIfThere(join(home, file));
  return stored === undefined ? undefined : new Secret(stored);
}

/** The port that the home's server used last, or 0. */
export function readStoredPort(home: string): number {
  const port = Number(readIfThere(join(home, SERVER_PATHS.port)) ?? 0);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
}

export function storePort(home: string, port: number): void {
  writePrivateFile(join(home, SERVER_PATHS.port), `${port}\n`);
}

/** Records where this home's server listens, so that the CLI finds it. */
export function writeRunning(home: string, url: string): void {
  writePrivateFile(join(home, SERVER_PATHS.running), `${JSON.stringify({ url, pid: process.pid })}\n`);
}

/** The address of this home's running server, or of its last one. */
export function readRunning(home: string): string | undefined {
  const text = readIfThere(join(home, SERVER_PATHS.running));
  return text === undefined ? undefined : runningSchema.parse(JSON.parse(text)).url;
}

const runningSchema = z.object({ url: z.string() });

export function removeRunning(home: string): void {
  rmSync(join(home, SERVER_PATHS.running), { force: true });
}

function readIfThere(path: string): string | undefined {
  try {
    const text = readFileSync(path, "utf8").trim();
    return text === "" ? undefined : text;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
