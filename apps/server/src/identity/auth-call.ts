import type { CallClient, Principal } from "../audit/principal.ts";
import type { AuthBody, AuthRoute } from "./auth-bodies.ts";

/** A parsed request to better-auth, for the handlers. */
export interface AuthCall<Route extends AuthRoute> {
  readonly body: AuthBody<Route>;
  readonly principal: Principal | undefined;
  readonly client: CallClient;
  readonly cookies: string | undefined;
  /** Calls better-auth. Returns its refusals with their status. */
  run(path: string, body: unknown): Promise<Response>;
}

export type AuthHandlers = { readonly [Route in AuthRoute]: (call: AuthCall<Route>) => Promise<Response> };
