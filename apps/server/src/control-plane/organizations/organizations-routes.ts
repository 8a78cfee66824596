import type { RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { person } from "../../identity/person.ts";
import type { KnownPods } from "../../pods/host-runtime.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { type DiskFloorDeps, requireDiskSpace } from "../../storage/disk-floor.ts";
import { createOrganization } from "./create-organization.ts";
import { listOrganizations, readOrganization } from "./organizations-store.ts";
import { updateOrganization } from "./update-organization.ts";

export interface OrganizationRoutesDeps extends DiskFloorDeps {
  readonly config: Pick<ServerConfig, "home" | "quotas" | "database_quota">;
  readonly db: ControlDatabase;
  readonly pods: Pick<KnownPods, "isolates">;
  readonly recordEvent: RecordEvent;
}

export function addOrganizationRoutes(routes: ControlRoutes, deps: OrganizationRoutesDeps): void {
  routes.add("orgList", async ({ principal, query }) => listOrganizations(deps.db, principal, query));
  routes.change("orgCreate", async ({ principal, body, client }, tx) =>
    createOrganization(
      {
        tx,
        recordEvent: deps.recordEvent,
        database_quota: deps.config.database_quota,
        orgs_per_person: deps.config.quotas.orgs_per_person,
        requireDiskSpace: () => requireDiskSpace(deps),
        isolates: deps.pods.isolates,
      },
      person(principal),
      body,
      client,
    ),
  );
  routes.add("orgShow", async ({ org, reply }) => {
    const found = await readOrganization(deps.db, org);
    reply.header("etag", found.etag);
    return found;
  });
  routes.change("orgUpdate", async ({ principal, org, body, client, request, reply }, tx) => {
    const changed = await updateOrganization(
      { tx, recordEvent: deps.recordEvent },
      { principal, org, client, request },
      body,
    );
    reply.header("etag", changed.etag);
    return changed;
  });
}
