import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError, appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { homeError } from "@appdb/contract/home-error";
import { makePrivateFolder } from "../files/private-folder.ts";
import { writePrivateFile } from "../processes/private-files.ts";

/** A sign-in of `cli login`. The server decides its lifetime and extends it with use. */
export interface StoredSession {
  readonly token: string;
  readonly email: string;
  readonly signed_in_at: string;
}

type Sessions = Readonly<Record<string, StoredSession>>;

export function sessionsFile(home: string): string {
  return join(home, HOME_PATHS.sessions);
}

/**
 * The sign-in at a server. Undefined when there is none.
 * @throws config_invalid when the file is damaged or readable for others
 */
export function readSession(home: string, url: string): StoredSession | undefined {
  const path = sessionsFile(home);
  const sessions = readSessions(path);
  if (Object.hasOwn(sessions, url)) refuseShared(path);
  return sessions[url];
}

/**
 * Checks that a sign-in can be stored, before the user confirms one in vain.
 * @throws home_not_writable, config_invalid
 */
export function checkSessions(home: string): void {
  readSessions(sessionsFile(home));
  try {
    makePrivateFolder(home);
    accessSync(home, constants.W_OK);
  } catch (cause) {
    throw homeError(home, cause);
  }
}

/**
 * Stores a sign-in or removes it, and returns the previous one. Replaces the file atomically.
 * @throws home_not_writable, disk_full, config_invalid when the file is damaged
 */
export function writeSession(home: string, url: string, session: StoredSession | undefined): StoredSession | undefined {
  const path = sessionsFile(home);
  const { [url]: previous, ...others } = readSessions(path);
  const sessions: Sessions = session === undefined ? others : { ...others, [url]: session };
  writePrivate(home, path, `${JSON.stringify({ version: 1, sessions }, null, 2)}\n`);
  return previous;
}

/** Writes a private file of the home atomically. @throws home_not_writable, disk_full */
export function writePrivate(home: string, path: string, text: string): void {
  try {
    writePrivateFile(path, text);
  } catch (cause) {
    throw cause instanceof AppError ? cause : homeError(home, cause);
  }
}

function readSessions(path: string): Sessions {
  const text = readIfThere(path);
  if (text === undefined) return {};
  try {
    const { sessions } = JSON.parse(text) as { sessions?: unknown };
    if (isSessions(sessions)) return sessions;
  } catch {
    // Invalid JSON gives the same error as other content, below.
  }
  throw appError("config_invalid", {
    detail: `${path} is damaged: it does not contain the sign-ins that cli login wrote.`,
    hint: `Remove it and sign in again: rm ${path}`,
    meta: { file: path },
  });
}

function isSessions(value: unknown): value is Sessions {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every(
    (one) => typeof one === "object" && one !== null && typeof one.token === "string" && typeof one.email === "string",
  );
}

/** The file allows acting as the user. Windows has no such modes. */
function refuseShared(path: string): void {
  if (process.platform === "win32") return;
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw appError("config_invalid", {
    detail: `${path} can be read by other users of this machine (mode 0${mode.toString(8)}), and so could your sign-in.`,
    hint: `Make it private: chmod 600 ${path}   and sign in again if others use this machine: cli login`,
    meta: { file: path },
  });
}

/** Text of a file of the home. Undefined when there is none. @throws config_invalid when it cannot be read */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw appError("config_invalid", {
      detail: `${path} cannot be read: ${message}.`,
      hint: "Make it readable for you, or set SERVICE_HOME to a folder that you own.",
      meta: { file: path },
      cause,
    });
  }
}
