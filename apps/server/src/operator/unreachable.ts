import { join } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";

/** What the machine says when no server listens; anything else is said by one that is there and does not answer. */
const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);

/** Why nothing can be asked of a server, by what its PostgreSQL, or the lack of one, said. */
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
    detail: `No server of the home ${config.home} runs, and its PostgreSQL runs with it.`,
    hint: "Start the server first: npm start",
    ...said,
  });
}
