import type { ServerDeps } from "../../compose.ts";
import type { ControlRoutes } from "../../http/checked-route.ts";
import { removeMember, updateMember } from "./change-members.ts";
import { listMembers } from "./store.ts";

export function addMemberRoutes(routes: ControlRoutes, { db, recordEvent }: ServerDeps): void {
  routes.add("memberList", async ({ org, query }) => listMembers(db, org.id, query));
  routes.change("memberUpdate", async ({ principal, org, client, params, body }, tx) =>
    updateMember({ tx, recordEvent }, { principal, org, client, id: params.id }, body.role),
  );
  routes.change("memberRemove", async ({ principal, org, client, params }, tx) =>
    removeMember({ tx, recordEvent }, { principal, org, client, id: params.id }),
  );
}
