import { appError } from "../errors.ts";
import type { Route } from "../routes/api.ts";
import type { CONTROL_API } from "../routes/control-api.ts";
import { CONTROL_ROUTES, type ControlRouteName } from "../routes/control-paths.ts";
import { CLIENT_VERSION_HEADER, VERSION } from "../version.ts";
import { type AnswerOf, type Client, createClient, type FetchLike, type InputOf } from "./client.ts";
import { lookHosted } from "./look-again.ts";
import { isBroken, lostChange } from "./lost-write.ts";

export type ControlClient = Client<typeof CONTROL_API>;
/** The input of a call: values of the path, the query, the body. */
export type CallInput<Name extends ControlRouteName> = InputOf<(typeof CONTROL_API)[Name]>;
/** The result of a call; undefined for a route that returns 204. */
export type CallAnswer<Name extends ControlRouteName> = AnswerOf<(typeof CONTROL_API)[Name]>;

export interface ControlClientOptions {
  /** Without a trailing slash; empty for a page that the server itself serves. */
  readonly url: string;
  /** The source of the address, for the error of an unreachable server: `SERVICE_API_URL`. */
  readonly url_source: string;
  /** `X-api-key` or `authorization`. Called before each request, because sessions are refreshed. */
  readonly credential: () => Promise<Readonly<Record<string, string>>>;
  readonly fetch?: FetchLike;
}

/**
 * Makes a client of the control plane. Responses are not checked: the server checks what it sends. A call may throw
 * server_unreachable when nothing listens at the address, commit_unknown for a change whose response was lost, or
 * server_failed for a response that is not from a control plane.
 */
export function createControlClient(options: ControlClientOptions): ControlClient {
  const { credential, fetch: fetchLike = fetch, url, url_source: source } = options;
  const unfinished = ({ method, path }: Route, { db, org }: Readonly<Record<string, string>>, cause?: unknown) =>
    appError("server_failed", {
      detail: `The connection ended before ${method} ${path} did: the database or the server stopped or restarted. It is unknown whether the update was applied.`,
      hint: `See its state and the jobs that continue: cli db status cloud://${org}:${db}; cli jobs list cloud://${org}:${db}`,
      meta: { url, source },
      cause,
    });
  return createClient<typeof CONTROL_API>(CONTROL_ROUTES, {
    url,
    fetch: fetchLike,
    headers: async () => ({ [CLIENT_VERSION_HEADER]: VERSION, ...(await credential()) }),
    lost: (route, cause, hasBegun, params) => {
      const { answers, method, path } = route;
      if (answers === "events" && isBroken(cause)) return unfinished(route, params, cause);
      const change = lostChange(url || "the server", route, cause, () => lookHosted(route, params));
      if (change !== undefined) return change;
      const meta = { url, source, request: `${method} ${path}` };
      if (hasBegun) {
        return appError("server_unreachable", {
          detail: `The response of ${url || "the server"} to ${method} ${path} broke${reasonOf(cause)}. The server or the database stopped or restarted.`,
          hint: "Try again in a moment.",
          meta,
          cause,
        });
      }
      if (isBroken(cause)) {
        return appError("server_unreachable", {
          detail: `The connection to ${url || "the server"} broke before the answer to ${method} ${path}${reasonOf(cause)}.`,
          hint: "Try again in a moment. If the server stopped, its operator must start it.",
          meta,
          cause,
        });
      }
      return appError("server_unreachable", {
        detail: `No server responds at ${url || "this address"} (from ${source})${reasonOf(cause)}.`,
        hint: "Start it with npm start in its checkout, or use another server: cli login --server https://...",
        meta,
        cause,
      });
    },
    failed: (_route, what, cause) =>
      appError("server_failed", {
        detail: `${url || "The server"} did not finish the request: ${what}.`,
        hint: `Check that it is the address of the control plane. It came from ${source}.`,
        meta: { url, source },
        cause,
      }),
    unfinished,
    ends_by_signal: true,
    peer: {
      name: url === "" ? "The server" : `The server at ${url}`,
      upgrade_it: "Ask its operator to upgrade it, or install the version of the server.",
      upgrade_command: "Upgrade the command: pip install --upgrade 'appdb[serve]'",
    },
  });
}

/** The system's message. A refused connection has none beyond "nothing responds". */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error) || !("code" in cause) || cause.code === "ECONNREFUSED") return "";
  return `: ${cause.message}`;
}
