import { appError } from "@appdb/contract/errors";
import type { Principal } from "../audit/principal.ts";

/** A person in a session of theirs. */
export type Person = Principal & { readonly session_id: string; readonly user_id: string; readonly email: string };

/** @throws forbidden for a key: what concerns sessions and memberships of one's own is done by a person */
export function person(principal: Principal): Person {
  const { session_id: sessionId, user_id: userId, email } = principal;
  if (sessionId !== null && userId !== null && email !== null)
    return { ...principal, session_id: sessionId, user_id: userId, email };
  throw appError("forbidden", {
    detail: "An API key cannot do this: it is done by a person who is signed in.",
    hint: "Sign in: cli login",
  });
}
