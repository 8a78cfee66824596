import { doneBy } from "../../audit/event.ts";
import { demand } from "../../requests/checked-route.ts";
import type { Caller, KeyChangeDeps } from "./create-key.ts";
import { lockKey } from "./keys-store.ts";

/** Deletes a key. Everyone may delete their own keys. @throws key_not_found, forbidden */
export async function deleteKey(deps: KeyChangeDeps, caller: Caller, name: string): Promise<void> {
  const { tx } = deps;
  const { principal, org } = caller;
  const key = await lockKey(tx, org, name);
  if (key.created_by === null || key.created_by !== principal.user_id) demand(org, "key.delete");
  await tx.deleteFrom("control.api_keys").where("id", "=", key.id).execute();
  await deps.recordEvent(tx, {
    action: "key.delete",
    target: key.name,
    ...doneBy(caller),
    detail: { key_id: key.id },
  });
}
