import { afterAll, beforeAll, describe } from "vitest";
import { type AttackTarget, openAttackTarget } from "./support/attack-target.ts";
import { testTreeAttacks } from "./support/tree-attacks.ts";

const OPEN_MS = 120_000;

/** The server with plain processes of an ordinary user: one organization, whose builds run as the server's user. */
describe("with plain processes of the server's user", () => {
  let target: AttackTarget;
  beforeAll(async () => {
    target = await openAttackTarget({ SERVICE_PODS: "process" }, ["mallory"]);
  }, OPEN_MS);
  afterAll(() => target?.[Symbol.asyncDispose]());

  testTreeAttacks(() => target);
});
