import type { Database } from "@appdb/contract/routes/control-databases";
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type Api, useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { refreshMs } from "./database-state.tsx";

export const databaseQuery = (api: Api, org: string, db: string) =>
  queryOptions({
    queryKey: KEYS.database(org, db),
    queryFn: ({ signal }) => api.control.call("databaseShow", { params: { org, db } }, { signal }),
    refetchInterval: ({ state }) => refreshMs(state.data === undefined ? [] : [state.data]),
  });

interface DatabaseRead {
  readonly database: Database;
  /** Why it could not be reloaded: it was deleted, or the server does not answer. */
  readonly error: Error | null;
}

/** The current database of the address, loaded before its pages are shown. */
export function useDatabase(): DatabaseRead {
  const { org, db } = useParams({ from: "/signed-in/orgs/$org/databases/$db" });
  const query = useSuspenseQuery(databaseQuery(useApi(), org, db));
  return { database: query.data, error: query.error };
}
