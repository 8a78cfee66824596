import { appError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";
import type { Org, orgCreateSchema } from "@appdb/contract/routes/control";
import type * as z from "zod";
import type { Tx } from "../../database/pool.ts";
import type { CallClient } from "../../http/checked-route.ts";
import type { Person } from "../../identity/person.ts";
import { switchOrg } from "../../identity/session-orgs.ts";
import { enqueueProvisionMain } from "../../reconciler/provision-main.ts";
import type { RecordEvent } from "../events/event.ts";
import { readOrganization } from "./store.ts";

export interface CreateOrganizationDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
  readonly database_quota: number;
}

/**
 * Makes an organization, of which the person is the owner, and switches the session to it. Its database `main` is made by
 * the reconciler, for any organization that lacks one.
 * @throws invalid_name, organization_taken
 */
export async function createOrganization(
  deps: CreateOrganizationDeps,
  owner: Person,
  input: z.output<typeof orgCreateSchema>,
  client: CallClient,
): Promise<Org> {
  const { tx } = deps;
  const name = parseName("organization", input.name);
  const display_name = input.display_name ?? name;
  const made = await tx
    .insertInto("control.organizations")
    .values({ name, display_name, database_quota: deps.database_quota })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .returning("id")
    .executeTakeFirst();
  if (made === undefined) throw taken(name);
  await tx.insertInto("control.members").values({ org_id: made.id, user_id: owner.user_id, role: "owner" }).execute();
  await switchOrg(tx, owner.session_id, made.id);
  await enqueueProvisionMain(tx, made.id);
  await deps.recordEvent(tx, {
    action: "org.create",
    target: name,
    org_id: made.id,
    actor: owner.email,
    principal: owner,
    ...client,
    outcome: "succeeded",
    detail: { display_name },
  });
  return await readOrganization(tx, { id: made.id, name, role: "owner" });
}

function taken(name: string): Error {
  return appError("organization_taken", {
    detail: `The name ${name} is taken: names of organizations are unique on a server.`,
    hint: "Choose another name, or ask a member of that organization for an invitation.",
    meta: { name },
  });
}
