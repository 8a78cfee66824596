import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import { AppError, appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { homeError } from "@appdb/contract/home-error";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { readIfThere } from "./load-home-config.ts";

/** A sign-in of `cli login`. How long it lasts is the server's to say: it is prolonged there with use. */
export interface StoredSession {
  readonly token: string;
  readonly email: string;
  readonly signed_in_at: string;
}

type Sessions = Readonly<Record<string, StoredSession>>;

export function sessionsFile(home: string): string {
  return join(home, HOME_PATHS.sessions);
}

/** The sign-in at a server; undefined when there is none.
 *  @throws config_invalid when the file is damaged, or others could read it */
export function readSession(home: string, url: string): StoredSession | undefined {
  const path = sessionsFile(home);
  const sessions = readSessions(path);
  if (Object.hasOwn(sessions, url)) refuseShared(path);
  return sessions[url];
}

/** Looks whether a sign-in can be kept, before somebody confirms one in vain. @throws home_not_writable, config_invalid */
export function checkSessions(home: string): void {
  readSessions(sessionsFile(home));
  try {
    makePrivateFolder(home);
    accessSync(home, constants.W_OK);
  } catch (cause) {
    throw homeError(home, cause);
  }
}

/** Keeps a sign-in, or forgets it; answers the one that was there. The file is exchanged as a whole: a crash leaves the
 *  old one or the new one.
 *  @throws home_not_writable, disk_full, config_invalid when the file is damaged */
export function writeSession(home: string, url: string, session: StoredSession | undefined): StoredSession | undefined {
  const path = sessionsFile(home);
  const { [url]: former, ...others } = readSessions(path);
  const sessions: Sessions = session === undefined ? others : { ...others, [url]: session };
  writePrivate(home, path, `${JSON.stringify({ version: 1, sessions }, null, 2)}\n`);
  return former;
}

/** Writes a file of the home that is for its owner alone, at once or not at all. @throws home_not_writable, disk_full */
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
    // What follows says it of a file that is no JSON and of one that is something else.
  }
  throw appError("config_invalid", {
    detail: `${path} is damaged: it does not hold the sign-ins that cli login wrote.`,
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

/** Whoever reads the file can act as the person. Windows has no such modes. */
function refuseShared(path: string): void {
  if (process.platform === "win32") return;
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw appError("config_invalid", {
    detail: `${path} can be read by other users of this machine (mode 0${mode.toString(8)}), and so could your sign-in.`,
    hint: `Make it yours alone: chmod 600 ${path}   and sign in again if others are on this machine: cli login`,
    meta: { file: path },
  });
}
