import type { RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { requireRecentProof } from "../../identity/second-factor/recent-proof.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { removeMember, updateMember } from "./change-members.ts";
import { listMembers } from "./members-store.ts";

export interface MemberRoutesDeps {
  readonly config: Pick<ServerConfig, "identity">;
  readonly db: ControlDatabase;
  readonly recordEvent: RecordEvent;
}

export function addMemberRoutes(routes: ControlRoutes, { db, recordEvent, config }: MemberRoutesDeps): void {
  const { confirm_s: confirmS } = config.identity;
  routes.add("memberList", async ({ org, query }) => listMembers(db, org, query));
  routes.change("memberUpdate", async ({ principal, org, client, params, body }, tx) => {
    await requireRecentProof(tx, principal, confirmS);
    return await updateMember({ tx, recordEvent }, { principal, org, client, id: params.id }, body.role);
  });
  routes.change("memberRemove", async ({ principal, org, client, params }, tx) => {
    await requireRecentProof(tx, principal, confirmS);
    return await removeMember({ tx, recordEvent }, { principal, org, client, id: params.id });
  });
}
