import type { Org, orgUpdateSchema } from "@appdb/contract/routes/control";
import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { CallClient, Principal } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import type { CallOrg } from "../../requests/checked-route.ts";
import { checkIfMatch, etagOf } from "../../requests/etag.ts";
import { readOrganization } from "./organizations-store.ts";

export interface UpdateOrganizationDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

export interface OrgChange {
  readonly principal: Principal;
  readonly org: CallOrg;
  readonly client: CallClient;
  readonly request: FastifyRequest;
}

/** Changes an organization's display values. Its name is part of addresses and stays. @throws precondition_failed */
export async function updateOrganization(
  { tx, recordEvent }: UpdateOrganizationDeps,
  { principal, org, client, request }: OrgChange,
  { display_name: displayName }: z.output<typeof orgUpdateSchema>,
): Promise<Org> {
  const found = await tx
    .selectFrom("control.organizations")
    .select(["version", "display_name"])
    .where("id", "=", org.id)
    .forUpdate()
    .executeTakeFirstOrThrow();
  checkIfMatch(request, etagOf(found.version));
  await tx
    .updateTable("control.organizations")
    .set({ display_name: displayName, version: found.version + 1 })
    .where("id", "=", org.id)
    .execute();
  await recordEvent(tx, {
    action: "org.update",
    target: org.name,
    ...doneBy({ org, principal, client }),
    detail: { display_name: displayName, before: found.display_name },
  });
  return await readOrganization(tx, org);
}
