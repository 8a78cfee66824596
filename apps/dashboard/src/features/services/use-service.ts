import type { HostedService, ServiceState } from "@appdb/contract/routes/control-services";
import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type Api, useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import type { List } from "../../api/use-list.ts";

interface ServiceParams {
  readonly org: string;
  readonly db: string;
  readonly service: string;
}

const SETTLED_MS = 3_000;
const MOVING_MS = 1_000;

export const hostedServiceQuery = (api: Api, params: ServiceParams) =>
  queryOptions({
    queryKey: KEYS.hosted_service(params.org, params.db, params.service),
    queryFn: ({ signal }) => api.control.call("serviceShow", { params: { ...params } }, { signal }),
    refetchInterval: ({ state }) => refreshMs(state.data === undefined ? [] : [state.data]),
  });

/** The current service of the address, loaded before its page is shown. */
export function useService(): { readonly service: HostedService; readonly error: Error | null } {
  const { org = "", db = "", service = "" } = useParams({ strict: false });
  const query = useSuspenseQuery(hostedServiceQuery(useApi(), { org, db, service }));
  return { service: query.data, error: query.error };
}

/** All services of a database, which are few. */
export function useServices(org: string, db: string, enabled = true): List<HostedService> {
  const { control } = useApi();
  const query = useQuery({
    queryKey: KEYS.services(org, db),
    queryFn: async ({ signal }) => {
      const services: HostedService[] = [];
      const input = { params: { org }, query: { database: db } };
      for await (const service of control.each("serviceList", input, { signal })) services.push(service);
      return services;
    },
    refetchInterval: ({ state }) => refreshMs(state.data ?? []),
    enabled,
  });
  return { items: query.data, error: query.error, more: undefined, loading_more: false };
}

const SETTLED: readonly ServiceState[] = ["AVAILABLE", "STOPPED", "FAILED"];

function refreshMs(services: readonly Pick<HostedService, "state" | "operation">[]): number {
  const isSettled = services.every(({ operation, state }) => operation === null && SETTLED.includes(state));
  return isSettled ? SETTLED_MS : MOVING_MS;
}
