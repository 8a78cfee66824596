import { appError } from "../errors.ts";
import type { CONTROL_API } from "../routes/control-api.ts";
import { CONTROL_ROUTES, type ControlRouteName } from "../routes/control-paths.ts";
import { CLIENT_VERSION_HEADER, VERSION } from "../version.ts";
import { type AnswerOf, type Client, createClient, type FetchLike, type InputOf } from "./client.ts";

export type ControlClient = Client<typeof CONTROL_API>;
/** What a call of a route takes: values of its path, its query, its body. */
export type CallInput<Name extends ControlRouteName> = InputOf<(typeof CONTROL_API)[Name]>;
/** What it answers; undefined for a route that answers 204. */
export type CallAnswer<Name extends ControlRouteName> = AnswerOf<(typeof CONTROL_API)[Name]>;

export interface ControlClientOptions {
  /** Without a slash at its end; empty for a page that the server itself serves. */
  readonly url: string;
  /** Where the address was set, for the error of a server that does not answer: `SERVICE_API_URL`. */
  readonly url_source: string;
  /** `X-api-key` or `authorization`; asked before each request, because sessions are refreshed. */
  readonly credential: () => Promise<Readonly<Record<string, string>>>;
  readonly fetch?: FetchLike;
}

/**
 * Makes a client of the control plane. Answers are taken as they are typed: the server checks what it sends. A call may throw
 * server_unreachable when nothing listens at the address, server_failed when the answer is none of a control plane.
 */
export function createControlClient(options: ControlClientOptions): ControlClient {
  const { credential, fetch: given = fetch, url, url_source: source } = options;
  return createClient<typeof CONTROL_API>(CONTROL_ROUTES, {
    url,
    fetch: given,
    headers: async () => ({ [CLIENT_VERSION_HEADER]: VERSION, ...(await credential()) }),
    lost: ({ method, path }, cause) =>
      appError("server_unreachable", {
        detail: `No server responds at ${url || "this address"} (from ${source})${reasonOf(cause)}.`,
        hint: "Start it with npm start in its checkout, or use another server: cli login --server https://...",
        meta: { url, source, request: `${method} ${path}` },
        cause,
      }),
    failed: ({ method, path }, what, cause) =>
      appError("server_failed", {
        detail: `${url || "The server"} did not finish ${method} ${path}: ${what}.`,
        hint: `Check that it is the address of the control plane. It came from ${source}.`,
        meta: { url, source },
        cause,
      }),
    unfinished: ({ method, path }, { db, org }) =>
      appError("server_failed", {
        detail: `${url} closed the connection before ${method} ${path} ended. It is unknown whether the update was applied.`,
        hint: `See what is still pending: cli schema diff, cli jobs list cloud://${org}:${db}`,
        meta: { url, source },
      }),
    ends_by_signal: true,
  });
}

/** What the system says; a refused connection says no more than that nothing answers. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error) || !("code" in cause) || cause.code === "ECONNREFUSED") return "";
  return `: ${cause.message}`;
}
