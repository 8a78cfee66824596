import { networkOf } from "@appdb/system/network/network-of";
import * as z from "zod";
import type { ControlDatabase } from "../database/pool.ts";
import type { MasterKey } from "../secrets/master-key.ts";
import type { AuthCall } from "./auth-call.ts";
import type { Identity } from "./identity.ts";
import type { Attempts } from "./second-factor/attempts.ts";
import { requireSecondFactor } from "./second-factor/second-factor.ts";
import { hashCredential } from "./tokens/hashed-tokens.ts";

export interface PasswordSignInDeps {
  readonly db: ControlDatabase;
  readonly attempts: Attempts;
  readonly identity: Identity;
  readonly master_key: MasterKey;
}

const signedIn = z.object({ token: z.string(), user: z.object({ id: z.string() }) });

/**
 * Signs a person in with a password, and a code if the account has a second factor. Returns better-auth's answer.
 * @throws second_factor_required, second_factor_wrong, too_many_attempts
 */
export async function signInByPassword(deps: PasswordSignInDeps, call: AuthCall<"sign-in/email">): Promise<Response> {
  const { body, client, cookies, run } = call;
  const { code, ...credentials } = body;
  const device = deps.identity.known_device.read(cookies, body.email);
  const forget = await takeAttempt(deps.attempts, body.email, client.ip_address, device);
  const response = await run("sign-in/email", credentials);
  if (!response.ok) return response;
  const { token, user } = signedIn.parse(await response.clone().json());
  try {
    await requireSecondFactor(deps, user.id, code, device === undefined ? user.id : `${user.id} ${device}`);
  } catch (error) {
    // its token was never sent
    await deps.db.deleteFrom("identity.sessions").where("token_hash", "=", hashCredential(token)).execute();
    throw error;
  }
  await forget();
  const answer = new Response(response.body, { status: response.status, headers: response.headers });
  answer.headers.append("set-cookie", deps.identity.known_device.write(body.email));
  return answer;
}

/**
 * Counts an attempt for the address and for the account. A known browser has its own count for the account. Other
 * browsers share one per network and a larger one overall, so attackers use up only the shared limits.
 */
async function takeAttempt(
  attempts: Attempts,
  email: string,
  ipAddress: string,
  device: string | undefined,
): Promise<() => Promise<void>> {
  await attempts.take("sign_in_address", ipAddress);
  if (device !== undefined) {
    await attempts.take("sign_in_device", `${device} ${email}`);
    return () => attempts.forget("sign_in_device", `${device} ${email}`);
  }
  const pair = `${networkOf(ipAddress)} ${email}`;
  await attempts.take("sign_in_pair", pair);
  await attempts.take("sign_in_account", email);
  return async () => {
    await attempts.forget("sign_in_pair", pair);
    await attempts.forget("sign_in_account", email);
  };
}
