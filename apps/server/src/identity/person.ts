import { appError } from "@appdb/contract/errors";
import type { Principal } from "../audit/principal.ts";

/** A person with a session. */
export type Person = Principal & { readonly session_id: string; readonly user_id: string; readonly email: string };

/** @throws forbidden for a key: only people manage their own sessions and memberships */
export function person(principal: Principal): Person {
  const { session_id: sessionId, user_id: userId, email } = principal;
  if (sessionId !== null && userId !== null && email !== null)
    return { ...principal, session_id: sessionId, user_id: userId, email };
  throw appError("forbidden", {
    detail: "An API key cannot do this. Sign in as a person.",
    hint: "Sign in: cli login",
  });
}
