import type { TenantDocuments } from "@appdb/python-runtime/documents/tenant-documents";
import type { ServerConfig } from "../../config/config.ts";
import type { KnownPods } from "../../pods/host-runtime.ts";
import { requireDiskSpace } from "../../storage/disk-floor.ts";
import type { PlanBounds } from "./read-plan.ts";

export interface PlanBoundsDeps {
  readonly config: Pick<ServerConfig, "home" | "media" | "pods" | "quotas">;
  readonly pods: Pick<KnownPods, "checkEnvironment">;
  readonly documents: Pick<TenantDocuments, "check">;
}

/** The bounds of databases on this server, from its configuration. */
export function planBounds({ config, documents, pods }: PlanBoundsDeps): PlanBounds {
  return {
    bounds: config.pods.bounds,
    media: config.media?.bounds,
    quotas: config.quotas,
    requireDiskSpace: () => requireDiskSpace({ config }),
    checkBuild: async (environment, organizationId) => {
      await documents.check(environment, organizationId);
      await pods.checkEnvironment?.(environment, organizationId);
    },
  };
}
