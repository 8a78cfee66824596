import { parseSecretName, serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { ChangedSecret } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import { actorOf, doneBy } from "../../audit/event.ts";
import type { Tx } from "../../database/pool.ts";
import type { Envelope, Owner } from "../../secrets/envelope.ts";
import { readSecret, secretNotFound } from "../../secrets/secret-store.ts";
import type { Caller, KeyChangeDeps } from "../keys/create-key.ts";

/** Addresses of running services that read the secret, unless their database overrides it. */
async function listAffected(
  tx: Tx,
  org: string,
  { database_id: databaseId, org_id: orgId }: Owner,
  name: string,
): Promise<string[]> {
  const { rows } = await sql<{ database: string; service: string }>`
    select d.name as database, s.name as service
    from control.services s join control.databases d on d.id = s.database_id
    where s.org_id = ${orgId} and (s.database_id = ${databaseId}::uuid or (${databaseId}::uuid is null and not exists (
        select from control.secrets o where o.database_id = s.database_id and o.name = ${name})))
      and s.observed is not null and (s.desired ->> 'is_running')::boolean and not s.is_pruned
    order by d.name, s.name`.execute(tx);
  return rows.map(({ database, service }) => serviceUriOf(org, database, service));
}

/** All secrets are in the environment of one process, which the system limits. */
const MOST = 200;
const MAX_BYTES = 65_536;

export interface SecretDeps extends KeyChangeDeps {
  readonly envelope: Envelope;
}

/** The secret's owner, and the address that the audit log shows. */
export interface SecretScope extends Owner {
  readonly uri: string;
}

/** Sets a secret. Returns the running services that lack it. @throws invalid_name, secret_reserved, invalid_request */
export async function setSecret(
  deps: SecretDeps,
  caller: Caller,
  scope: SecretScope,
  input: { readonly name: string; readonly value: string },
): Promise<ChangedSecret> {
  const { tx } = deps;
  const name = parseSecretName(input.name);
  checkValue(name, input.value);
  const owner = { org_id: scope.org_id, database_id: scope.database_id };
  const sealed = await deps.envelope.seal(tx, owner, name, input.value);
  const setBy = actorOf(caller.principal);
  await tx
    .insertInto("control.secrets")
    .values({ ...owner, name, ...sealed, set_by: setBy })
    .onConflict((conflict) =>
      conflict
        .columns(["org_id", "database_id", "name"])
        .doUpdateSet({ ...sealed, set_by: setBy, updated_at: sql<Date>`now()` }),
    )
    .execute();
  await refuseTooMany(deps, owner, scope.uri);
  const secret = await readSecret(tx, owner, name);
  await recordSecret(deps, caller, scope, "secret.set", name);
  return { ...secret, restart: await listAffected(tx, caller.org.name, owner, name) };
}

/** Deletes a secret. @throws invalid_name, secret_reserved, secret_not_found */
export async function deleteSecret(deps: SecretDeps, caller: Caller, scope: SecretScope, text: string): Promise<void> {
  const name = parseSecretName(text);
  const deleted = await deps.tx
    .deleteFrom("control.secrets")
    .where("org_id", "=", scope.org_id)
    .where("database_id", "is not distinct from", scope.database_id)
    .where("name", "=", name)
    .executeTakeFirst();
  if (deleted.numDeletedRows === 0n) throw secretNotFound(name);
  await recordSecret(deps, caller, scope, "secret.delete", name);
}

async function recordSecret(deps: SecretDeps, caller: Caller, scope: SecretScope, action: string, name: string) {
  await deps.recordEvent(deps.tx, {
    action,
    target: `${scope.uri} ${name}`,
    ...doneBy({ org: { id: scope.org_id }, principal: caller.principal, client: caller.client }),
    detail: { name, scope: scope.database_id === null ? "organization" : "database" },
  });
}

function findValueProblem(value: string): string | undefined {
  if (value.includes("\0")) return "contains a NUL character, which environment variables cannot hold";
  if (!value.isWellFormed()) return "is not well-formed text";
  const bytes = Buffer.byteLength(value);
  return bytes > MAX_BYTES ? `has ${bytes} bytes; the maximum is ${MAX_BYTES}` : undefined;
}

/** The message must not contain any part of the value. */
function checkValue(name: string, value: string): void {
  const what = findValueProblem(value);
  if (what === undefined) return;
  throw appError("invalid_request", {
    detail: `The value of ${name} ${what}.`,
    hint: "Store binary values in base64.",
    errors: [{ pointer: "/value", detail: what }],
  });
}

async function refuseTooMany(deps: SecretDeps, owner: Owner, uri: string): Promise<void> {
  const { count } = await deps.tx
    .selectFrom("control.secrets")
    .select(({ fn }) => fn.countAll<string>().as("count"))
    .where("org_id", "=", owner.org_id)
    .where("database_id", "is not distinct from", owner.database_id)
    .executeTakeFirstOrThrow();
  if (Number(count) <= MOST) return;
  throw appError("invalid_request", {
    detail: `${uri} has ${MOST} secrets, the maximum.`,
    hint: "Delete one that is no longer needed: cli secret delete",
  });
}
