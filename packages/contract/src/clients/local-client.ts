import { appError } from "../errors.ts";
import type { LOCAL_API } from "../routes/local-api.ts";
import { LOCAL_ROUTES } from "../routes/local-paths.ts";
import { CLIENT_VERSION_HEADER, VERSION } from "../version.ts";
import { type Client, createClient, type FetchLike } from "./client.ts";
import { lookLocal } from "./look-again.ts";
import { lostChange } from "./lost-write.ts";

export type LocalClient = Client<typeof LOCAL_API>;

export interface LocalClientOptions {
  readonly port: number;
  /** The home's token; only its owner can read it. */
  readonly token: string;
  readonly fetch?: FetchLike;
}

/**
 * Makes a client of the daemon on 127.0.0.1:`port`. Responses are not checked: the daemon has the same version. A call
 * may throw daemon_not_running when nothing listens, commit_unknown for a change whose response was lost, or daemon_failed when the connection broke or the response is not
 * from a daemon.
 */
export function createLocalClient({ port, token, fetch: fetchLike = fetch }: LocalClientOptions): LocalClient {
  const failed = ({ path }: { readonly path: string }, what: string, cause?: unknown) =>
    appError("daemon_failed", {
      detail: `The daemon did not finish the request: ${what}.`,
      hint: "Check its state and its log: cli daemon status",
      meta: { path },
      cause,
    });
  return createClient<typeof LOCAL_API>(LOCAL_ROUTES, {
    url: `http://127.0.0.1:${port}`,
    fetch: fetchLike,
    headers: () => ({ authorization: `Bearer ${token}`, [CLIENT_VERSION_HEADER]: VERSION }),
    lost: (route, cause, _hasBegun, params) => {
      if (!isRefused(cause)) {
        const broke = failed(route, "the connection broke", cause);
        // The callers of events say what continues.
        if (route.answers === "events") return broke;
        return lostChange("the daemon", route, cause, () => lookLocal(route, params)) ?? broke;
      }
      return appError("daemon_not_running", {
        detail: `No daemon responds on 127.0.0.1:${port}.`,
        hint: "Start the daemon: cli daemon start",
        meta: { port },
        cause,
      });
    },
    failed,
    peer: {
      name: "The daemon",
      upgrade_it: "Restart it with the version of this command: cli daemon restart",
      upgrade_command: "Upgrade the command: pip install --upgrade 'appdb[serve]'",
    },
  });
}

/** node:http throws the system error itself; `fetch` wraps it in a TypeError. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && error.code === "ECONNREFUSED") || isRefused(error.cause);
}
