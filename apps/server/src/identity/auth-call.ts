import type { CallClient, Principal } from "../audit/principal.ts";
import type { AuthBody, AuthRoute } from "./auth-bodies.ts";

/** A request to better-auth: what came in, parsed, and what the handlers make of it. */
export interface AuthCall<Route extends AuthRoute> {
  readonly body: AuthBody<Route>;
  readonly principal: Principal | undefined;
  readonly client: CallClient;
  readonly cookies: string | undefined;
  /** Has better-auth answer; a refusal of its comes back with its status. */
  run(path: string, body: unknown): Promise<Response>;
}

export type AuthHandlers = { readonly [Route in AuthRoute]: (call: AuthCall<Route>) => Promise<Response> };
