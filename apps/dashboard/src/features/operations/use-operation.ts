import type { Operation } from "@appdb/contract/routes/control";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { type Api, useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { hasEnded } from "./operation-state.tsx";

const REFRESH_MS = 1_000;

export const operationQuery = (api: Api, org: string, id: string) =>
  queryOptions({
    queryKey: KEYS.operation(org, id),
    queryFn: ({ signal }) => api.control.call("operationShow", { params: { org, id } }, { signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && hasEnded(state.data) ? false : REFRESH_MS),
  });

/** The current state of an operation. Undefined until it is loaded. */
export function useOperation(org: string, id: string): { operation: Operation | undefined; error: Error | null } {
  const query = useQuery(operationQuery(useApi(), org, id));
  return { operation: query.data, error: query.error };
}
