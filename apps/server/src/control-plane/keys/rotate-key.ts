import { appError } from "@appdb/contract/errors";
import type { CreatedKey } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import { doneBy } from "../../audit/event.ts";
import { demand } from "../../requests/checked-route.ts";
import type { Caller, KeyChangeDeps } from "./create-key.ts";
import { lockKey, readKey, toKey } from "./keys-store.ts";
import { makeKeyText } from "./make-key.ts";

/**
 * Gives a key a new secret. The previous one stays valid for `overlap_s`, the one before that ends now. If a key acts
 * as a person, only that person can rotate it: the new secret signs in as them.
 * @throws key_not_found, forbidden
 */
export async function rotateKey(
  deps: KeyChangeDeps,
  caller: Caller,
  input: { readonly name: string; readonly overlap_s: number },
): Promise<CreatedKey> {
  const { tx } = deps;
  const { principal, org } = caller;
  const key = await lockKey(tx, org, input.name);
  const isOwn = key.created_by !== null && key.created_by === principal.user_id;
  if (!isOwn) demand(org, "key.delete");
  if (key.acts_as !== null && key.acts_as !== principal.user_id) throw actsAsAnother(key.name);
  const { text, hash } = makeKeyText(key.id);
  const overlaps = input.overlap_s > 0;
  await tx
    .updateTable("control.api_keys")
    .set({
      hash,
      previous_hash: overlaps ? key.hash : null,
      previous_until: overlaps ? sql<Date>`now() + make_interval(secs => ${input.overlap_s}::float8)` : null,
    })
    .where("id", "=", key.id)
    .execute();
  await deps.recordEvent(tx, {
    action: "key.rotate",
    target: key.name,
    ...doneBy(caller),
    detail: { key_id: key.id, overlap_s: input.overlap_s },
  });
  return { ...toKey(await readKey(tx, key.id)), api_key: text };
}

function actsAsAnother(name: string): Error {
  return appError("forbidden", {
    detail: `The key ${name} has no grants and acts as its creator. Only its creator can get its secret.`,
    hint: `Delete it, and have them make another: cli key delete ${name}`,
  });
}
