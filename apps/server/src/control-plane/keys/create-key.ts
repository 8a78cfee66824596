import { parseGrant } from "@appdb/contract/control/grants";
import { parseKeyName } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { CreatedKey, keyCreateSchema } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type * as z from "zod";
import { doneBy, type EventInput, type RecordEvent } from "../../audit/event.ts";
import type { Principal } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import type { CallOrg } from "../../requests/checked-route.ts";
import { readKey, toKey } from "./keys-store.ts";
import { makeKeyId, makeKeyText } from "./make-key.ts";

export interface KeyChangeDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

/** Who changes an organization, and from where. */
export interface Caller {
  readonly principal: Principal;
  readonly org: CallOrg;
  /** Without an address if the change comes from the server's machine. */
  readonly client: Pick<EventInput, "ip_address" | "client">;
}

/**
 * Creates an API key and returns its text, which is never shown again. Without grants it acts as its creator.
 * @throws invalid_name, invalid_grant, key_taken; forbidden if the key would outlive the key that creates it
 */
export async function createKey(
  deps: KeyChangeDeps,
  caller: Caller,
  input: z.output<typeof keyCreateSchema>,
): Promise<CreatedKey> {
  const { tx } = deps;
  const { principal, org } = caller;
  const name = parseKeyName(input.name);
  const grants = [...new Set(input.grants.map((text) => parseGrantOf(org.name, text)))];
  const id = makeKeyId();
  const { text, hash } = makeKeyText(id);
  const created = await tx
    .insertInto("control.api_keys")
    .values({
      id,
      org_id: org.id,
      name,
      hash,
      grants,
      created_by: principal.user_id,
      acts_as: grants.length === 0 ? principal.user_id : null,
      expires_at:
        input.expires_in_s === null ? null : sql<Date>`now() + make_interval(secs => ${input.expires_in_s}::float8)`,
    })
    .onConflict((conflict) => conflict.columns(["org_id", "name"]).doNothing())
    .returning("id")
    .executeTakeFirst();
  if (created === undefined) throw nameTaken(org.name, name);
  const key = toKey(await readKey(tx, id));
  refuseOutliving(principal, key.expires_at);
  await deps.recordEvent(tx, {
    action: "key.create",
    target: name,
    ...doneBy(caller),
    detail: { key_id: id, grants, expires_at: key.expires_at },
  });
  return { ...key, api_key: text };
}

function parseGrantOf(org: string, text: string): string {
  const grant = parseGrant(text);
  if (grant.organization === org) return grant.text;
  throw appError("invalid_grant", {
    detail: `The grant ${grant.text} names the organization ${grant.organization}. A key of ${org} can only have grants in ${org}.`,
    hint: `Write: --grant ${grant.text.replace(`://${grant.organization}:`, `://${org}:`)}`,
    meta: { grant: grant.text },
  });
}

/** Otherwise a stolen key that expires soon could be replaced by one that does not. */
function refuseOutliving(principal: Principal, expiresAt: string | null): void {
  if (principal.key === null || principal.expires_at === null) return;
  if (expiresAt !== null && new Date(expiresAt) <= principal.expires_at) return;
  throw appError("forbidden", {
    detail: `The key ${principal.key.name} expires at ${principal.expires_at.toISOString()} and cannot create a key that lives longer.`,
    hint: "Sign in to create it: cli login. Or set an earlier end: --expires 1d",
  });
}

function nameTaken(org: string, name: string): Error {
  return appError("key_taken", {
    detail: `${org} already has an API key ${name}.`,
    hint: `Choose another name, or give that key a new secret: cli key rotate ${name}`,
    meta: { name },
  });
}
