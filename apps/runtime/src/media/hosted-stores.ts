import { createControlClient } from "@appdb/contract/clients/control-client";
import { appError } from "@appdb/contract/errors";
import type { HostedAccess } from "@appdb/contract/runtime";
import type { Logger } from "@appdb/engine/ports";
import type { StoreAddress } from "@appdb/media/stores/media-address";
import type { MediaStore } from "@appdb/media/stores/media-store";
import { type ManagedRoutes, openMediafsStore } from "@appdb/media/stores/mediafs-store";
import { readSession } from "@appdb/system/control/sessions";
import { wakingClient } from "@appdb/system/control/wake-database";
import { httpFetch } from "@appdb/system/network/http-fetch";

/** Opens a folder of a hosted database's media store for a local database. No request is sent yet. */
export function openHostedStore(
  place: Extract<StoreAddress, { kind: "mediafs" }>,
  access: HostedAccess | undefined,
  log: Logger,
): MediaStore {
  const { database: db, org } = place;
  const routes = access === undefined ? refusing(`${org}:${db}`) : routesOf(access, { org, db }, log);
  return openMediafsStore(place, routes);
}

function routesOf(access: HostedAccess, params: { readonly org: string; readonly db: string }, log: Logger) {
  const { url, url_source } = access;
  const client = createControlClient({ url, url_source, fetch: httpFetch, credential: async () => headersOf(access) });
  const signal = new AbortController().signal;
  const note = (text: string) => log.info({ text }, "the database of a media store is started");
  const waking = wakingClient(client, { signal, note });
  const routes: ManagedRoutes = {
    // the conditional types of both clients match for every name
    call: (name, input, options) => waking.call(name, { ...input, params } as never, options) as never,
    resolve: (address) => address,
  };
  return routes;
}

/**
 * The credential of a request. The sign-in is read each time: the server extends it with use, and `cli login` replaces it
 * while the service runs.
 */
function headersOf({ api_key: apiKey, home, url }: HostedAccess): Record<string, string> {
  if (apiKey !== undefined) return { "x-api-key": apiKey };
  const session = readSession(home, url);
  if (session !== undefined) return { authorization: `Bearer ${session.token}` };
  throw appError("not_signed_in", { detail: `Not signed in to ${url}.`, hint: "Sign in: cli login" });
}

/** For an application that was last updated without the store: no access was looked for. */
function refusing(store: string): ManagedRoutes {
  return {
    call: async () => {
      throw appError("not_signed_in", {
        detail: `The application was last updated without an access to ${store}.`,
        hint: "Sign in: cli login. Then run cli schema update and cli service update again.",
      });
    },
    resolve: (address) => address,
  };
}
