import { type StorePermit, StoreTokens } from "@appdb/media/files/store-tokens";
import { MEDIA_INSTANCE } from "../../pods/service-token.ts";
import { notServing } from "../exchange/refusals.ts";
import type { FindPodToken } from "./pod-tokens.ts";

/** Maximum databases whose secrets are kept. */
const MAX_KNOWN = 10_000;

/** Reads the signed addresses of media stores. Their bodies are accepted, and sleeping databases are woken, only after that. */
export interface StorePermits {
  /** What the query of an address permits. @throws media_address_invalid; service_not_available before the database's first start */
  read(database: { readonly id: string }, search: string): Promise<StorePermit>;
}

/** The secret of a database is read once. */
export function createStorePermits(findToken: FindPodToken): StorePermits {
  const known = new Map<string, StoreTokens>();
  return {
    async read({ id }, search) {
      const found = known.get(id);
      if (found !== undefined) return found.read(search);
      const secret = await findToken({ id, database_id: id }, MEDIA_INSTANCE);
      if (secret === undefined) throw notServing(false);
      const tokens = new StoreTokens(secret.reveal(), id);
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(id, tokens);
      return tokens.read(search);
    },
  };
}
