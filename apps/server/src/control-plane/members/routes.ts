import type { ServerDeps } from "../../compose.ts";
import type { ControlRoutes } from "../../http/checked-route.ts";
import { demandRecentProof } from "../../identity/recent-proof.ts";
import { removeMember, updateMember } from "./change-members.ts";
import { listMembers } from "./store.ts";

export function addMemberRoutes(routes: ControlRoutes, { db, recordEvent, config }: ServerDeps): void {
  const { confirm_s } = config.identity;
  routes.add("memberList", async ({ org, query }) => listMembers(db, org, query));
  routes.change("memberUpdate", async ({ principal, org, client, params, body }, tx) => {
    await demandRecentProof(tx, principal, confirm_s);
    return await updateMember({ tx, recordEvent }, { principal, org, client, id: params.id }, body.role);
  });
  routes.change("memberRemove", async ({ principal, org, client, params }, tx) => {
    await demandRecentProof(tx, principal, confirm_s);
    return await removeMember({ tx, recordEvent }, { principal, org, client, id: params.id });
  });
}
