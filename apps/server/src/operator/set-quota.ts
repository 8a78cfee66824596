import type { OperatorAnswer } from "@appdb/contract/operator";
import { sql } from "kysely";
import { doneBy } from "../audit/event.ts";
import { lockOrganization, type OperatorTx, operatorOf } from "../control-plane/organizations/operator-caller.ts";

/** Sets an organization's maximum of databases. Existing ones stay. @throws organization_not_found */
export async function setQuota(
  { tx, recordEvent }: OperatorTx,
  name: string,
  databaseQuota: number,
): Promise<OperatorAnswer<"quota">> {
  const org = await lockOrganization(tx, name);
  await tx
    .updateTable("control.organizations")
    .set({ database_quota: databaseQuota, version: sql<number>`version + 1` })
    .where("id", "=", org.id)
    .execute();
  await recordEvent(tx, {
    action: "org.quota",
    target: org.name,
    ...doneBy(operatorOf(org)),
    detail: { database_quota: databaseQuota, before: org.database_quota },
  });
  return { organization: org.name, before: org.database_quota, database_quota: databaseQuota };
}
