import { parseLocalTarget } from "@appdb/contract/names";
import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import type { DaemonDeps } from "../composition/compose.ts";
import { planServiceUpdate, pruneLocalServices, updateLocalServices } from "../services/update-services.ts";
import type { Handlers } from "./json-api.ts";

type Names = "Apply" | "List" | "Logs" | "Plan" | "Prune" | "Restart" | "Stop";

/** Routes for the home's services. */
export function serviceHandlers(deps: DaemonDeps): Pick<Handlers<typeof LOCAL_API>, `service${Names}`> {
  const { services } = deps;
  return {
    servicePlan: async ({ body }) => ({ plan: await planServiceUpdate(deps, body) }),
    serviceApply:
      ({ body }) =>
      async () => ({ plan: await updateLocalServices(deps, body) }),
    servicePrune: async ({ body }) => ({ plan: await pruneLocalServices(deps, body) }),
    serviceList: ({ query: { target } }) => ({
      services: services.list(target === undefined ? undefined : parseLocalTarget(target).text),
    }),
    serviceRestart: ({ body }) => services.restart(services.resolve(body.name)),
    serviceStop: ({ body }) => services.stop(services.resolve(body.name)),
    serviceLogs: ({ query: { follow, name, tail } }) => {
      const log = services.log(services.resolve(name));
      return async (emit, signal) => {
        for (const line of log.tail(tail)) emit({ event: "log", line });
        if (follow === "1" && !signal.aborted) {
          const unfollow = log.follow((line) => emit({ event: "log", line }));
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
          unfollow();
        }
        return {};
      };
    },
  };
}
