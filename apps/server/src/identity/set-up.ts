import type { setUpSchema } from "@appdb/contract/routes/control";
import type * as z from "zod";
import type { RecordEvent } from "../audit/event.ts";
import type { CallClient, Principal } from "../audit/principal.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { ADDRESS_HEADER, asAllowedSignUp, handleAuth } from "./auth.ts";
import { useFirstAccount } from "./first-account.ts";
import type { Identity } from "./identity.ts";
import type { Attempts } from "./second-factor/attempts.ts";
import { assertStrongPassword } from "./second-factor/weak-passwords.ts";
import type { Site } from "./tokens/csrf.ts";
import { translate } from "./translate.ts";

export interface SetUpDeps {
  readonly db: ControlDatabase;
  readonly identity: Identity;
  readonly site: Site;
  readonly attempts: Attempts;
  readonly recordEvent: RecordEvent;
}

/**
 * Creates the first account with the printed link and signs it in.
 * @throws set_up_done, unauthorized for a wrong token, weak_password, too_many_attempts
 */
export async function setUp(
  deps: SetUpDeps,
  { token, ...account }: z.output<typeof setUpSchema>,
  client: CallClient,
): Promise<{ principal: Principal; set_cookie: string }> {
  await deps.attempts.take("set_up_address", client.ip_address);
  assertStrongPassword(account.password, account.email);
  const setCookie = await useFirstAccount(deps.db, token, async () => {
    const headers = new Headers({
      "content-type": "application/json",
      [ADDRESS_HEADER]: client.ip_address,
      origin: deps.site.url,
      ...(client.client === null ? {} : { "user-agent": client.client }),
    });
    const request = new Request(`${deps.site.url}/v1/auth/sign-up/email`, {
      method: "POST",
      headers,
      body: JSON.stringify(account),
    });
    const response = await asAllowedSignUp(() => handleAuth(deps.identity.auth(), request));
    if (!response.ok) throw translate(response.status, await response.json().catch(() => undefined));
    const cookie = response.headers.getSetCookie().find((text) => text.startsWith(`${deps.identity.cookie.name}=`));
    if (cookie === undefined) throw new Error("The first account was created without a session.");
    return cookie;
  });
  const { principal } = await deps.identity.resolve({ headers: { cookie: setCookie.split(";")[0] ?? "" } });
  if (principal === undefined) throw new Error("The session of the first account was not found.");
  await deps.recordEvent(deps.db, {
    action: "session.create",
    target: account.email,
    org_id: null,
    actor: account.email,
    principal,
    ...client,
    outcome: "succeeded",
    detail: { by: "first account" },
  });
  return { principal, set_cookie: setCookie };
}
