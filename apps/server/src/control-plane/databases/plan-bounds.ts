import { checkEnvironment } from "@appdb/contract/control/check-environment";
import type { KnownPods } from "../../compose.ts";
import type { ServerConfig } from "../../config.ts";
import type { PlanBounds } from "./read-plan.ts";

export interface PlanBoundsDeps {
  readonly config: Pick<ServerConfig, "pods">;
  readonly pods: Pick<KnownPods, "checkEnvironment">;
}

/** What databases of this server may be, as it is configured. */
export function planBounds({ config, pods }: PlanBoundsDeps): PlanBounds {
  return {
    bounds: config.pods.bounds,
    checkBuild: async (environment) => {
      checkEnvironment(environment);
      await pods.checkEnvironment?.(environment);
    },
  };
}
