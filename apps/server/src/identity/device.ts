import { appError } from "@appdb/contract/errors";
import type { Device } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type { CallClient } from "../audit/principal.ts";
import type { ControlDatabase } from "../database/pool.ts";
import type { Person } from "./person.ts";
import type { Attempts } from "./second-factor/attempts.ts";

export interface DeviceDeps {
  readonly db: ControlDatabase;
  readonly attempts: Attempts;
}

/**
 * The request behind a code. The code then belongs to the person who opened it first: only they may confirm or deny it.
 * @throws device_code_not_found if wrong, expired, answered or opened by another; too_many_attempts
 */
export async function showDevice(deps: DeviceDeps, person: Person, text: string, client: CallClient): Promise<Device> {
  await deps.attempts.take("device_code_address", client.ip_address);
  await deps.attempts.take("device_code_account", person.user_id);
  const userCode = text.replaceAll(/[^a-zA-Z0-9]/g, "").toUpperCase();
  const claimed = await deps.db
    .updateTable("identity.device_codes")
    .set({ user_id: person.user_id })
    .where("user_code", "=", userCode)
    .where("status", "=", "pending")
    .where("expires_at", ">", sql<Date>`now()`)
    .where(({ eb, or }) => or([eb("user_id", "is", null), eb("user_id", "=", person.user_id)]))
    .returning(["user_code", "client_id", "expires_at", "created_at"])
    .executeTakeFirst();
  if (claimed === undefined) {
    throw appError("device_code_not_found", {
      detail: `No open request has the code ${JSON.stringify(text.slice(0, 20))}.`,
      hint: "Check the code in the terminal, or start again: cli login. A code is valid once, for 15 minutes.",
    });
  }
  await deps.attempts.forget("device_code_account", person.user_id);
  const from = await deps.db
    .selectFrom("identity.device_requests")
    .select(["ip_address", "user_agent"])
    .where("user_code", "=", userCode)
    .executeTakeFirst();
  return {
    user_code: `${userCode.slice(0, 4)}-${userCode.slice(4)}`,
    client: claimed.client_id ?? "",
    ip_address: from?.ip_address ?? null,
    user_agent: from?.user_agent ?? null,
    created_at: claimed.created_at.toISOString(),
    expires_at: claimed.expires_at.toISOString(),
  };
}
