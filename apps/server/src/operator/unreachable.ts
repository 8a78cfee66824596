import { join } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";

/** Errors without a listening server. Any other error comes from one that is there but does not answer. */
const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);

/** The error of an unreachable server, from PostgreSQL's error or the lack of a PostgreSQL. */
export function unreachable(config: Pick<ServerConfig, "home" | "database">, cause?: unknown): AppError {
  const said = cause === undefined ? {} : { cause };
  if (config.database.url !== undefined) {
    return appError("server_unreachable", {
      detail: "The PostgreSQL of SERVICE_DATABASE_URL does not answer.",
      hint: "Start that PostgreSQL, or correct SERVICE_DATABASE_URL.",
      ...said,
    });
  }
  if (cause instanceof Error && !("code" in cause && ABSENT.has(String(cause.code)))) {
    return appError("server_unreachable", {
      detail: `The PostgreSQL of the home ${config.home} does not answer: ${cause.message}.`,
      hint: `Try again; then read ${join(config.home, SERVER_PATHS.postgresLog)} and restart the server.`,
      ...said,
    });
  }
  return appError("server_unreachable", {
    detail: `No server of the home ${config.home} is running, so neither is its PostgreSQL.`,
    hint: "Start the server first: npm start",
    ...said,
  });
}
