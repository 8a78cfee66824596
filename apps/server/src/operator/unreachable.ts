import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import { roleLock } from "../config/server-home.ts";

/** Errors without a listening PostgreSQL. Any other error comes from one that is there but does not answer. */
const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);
/** Lines of PostgreSQL's log that say why it ended or does not start. */
const REASON = /(?:(?:FATAL|PANIC): {2}(?!terminating connection)|^postgres: )(.+)$/;

/** The error of an unreachable server, from PostgreSQL's error or the lack of a PostgreSQL. */
export function unreachable(config: Pick<ServerConfig, "home" | "database" | "roles">, cause?: unknown): AppError {
  const said = cause === undefined ? {} : { cause };
  if (config.database.url !== undefined) {
    return appError("server_unreachable", {
      detail: "The PostgreSQL of SERVICE_DATABASE_URL does not answer.",
      hint: "Start that PostgreSQL, or correct SERVICE_DATABASE_URL.",
      ...said,
    });
  }
  const log = join(config.home, SERVER_PATHS.postgresLog);
  if (cause instanceof Error && !("code" in cause && ABSENT.has(String(cause.code)))) {
    return appError("server_unreachable", {
      detail: `The PostgreSQL of the home ${config.home} does not answer: ${cause.message}.`,
      hint: `Try again; then read ${log} and restart the server.`,
      ...said,
    });
  }
  const server = cause === undefined ? undefined : findServer(config);
  if (server !== undefined) {
    const reason = lastReason(log);
    return appError("server_unreachable", {
      detail: `The server of the home ${config.home} runs (process ${server}), but its PostgreSQL does not.${reason === undefined ? "" : ` It said last: ${reason}.`}`,
      hint: `Read ${log} and remove the cause. The server then starts its PostgreSQL again.`,
      ...said,
    });
  }
  return appError("server_unreachable", {
    detail: `No server of the home ${config.home} is running, so neither is its PostgreSQL.`,
    hint: "Start the server first: npm start",
    ...said,
  });
}

/** The process of the running server of a home. */
function findServer({ home, roles }: Pick<ServerConfig, "home" | "roles">): number | undefined {
  const locks = join(home, SERVER_PATHS.locks);
  for (const role of roles) {
    const pid = findLockOwner(locks, roleLock(role))?.pid;
    if (pid !== undefined) return pid;
  }
  return undefined;
}

/** The last reason in PostgreSQL's log. Undefined without one, and for a log that cannot be read. */
function lastReason(log: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(log, "utf8");
  } catch {
    // the hint names the file
    return undefined;
  }
  const reasons = text.split("\n").flatMap((line) => REASON.exec(line)?.[1] ?? []);
  return reasons.at(-1)?.replace(/\.$/, "");
}
