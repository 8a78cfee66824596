import type { FetchLike } from "@appdb/contract/clients/client";
import { type ControlClient, createControlClient } from "@appdb/contract/clients/control-client";
import { createContext, use } from "react";
import { type AuthClient, createAuthClient } from "./auth-client.ts";
import { type Confirmation, createConfirmation } from "./confirmation.ts";

/** The clients for requests to the server. The browser sends the session's cookie, so no credential is needed. */
export interface Api {
  readonly control: ControlClient;
  readonly auth: AuthClient;
  readonly confirmation: Confirmation;
}

export function createApi(): Api {
  const control = createControlClient({
    url: "",
    url_source: "this page's address",
    credential: async () => ({}),
    fetch: browserFetch,
  });
  return { control, auth: createAuthClient(), confirmation: createConfirmation() };
}

const ApiContext = createContext<Api | undefined>(undefined);
export const ApiProvider = ApiContext.Provider;

export function useApi(): Api {
  const api = use(ApiContext);
  if (api === undefined) throw new Error("useApi must be called inside ApiProvider.");
  return api;
}

/** `fetch` with a body that can be read in pieces in every browser: not all can iterate a stream. */
const browserFetch: FetchLike = async (url, init) => {
  const response = await fetch(url, init);
  const { body } = response;
  return { status: response.status, text: () => response.text(), body: body === null ? null : piecesOf(body) };
};

async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}
