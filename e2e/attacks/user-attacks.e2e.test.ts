import { afterAll, beforeAll, describe } from "vitest";
import { type AttackStage, openLoneStage } from "./support/attack-stage.ts";
import { testTreeAttacks } from "./support/tree-attacks.ts";

const OPEN_MS = 120_000;

/** The server with plain processes of an ordinary user: one organization, whose builds run as the server's user. */
describe("with plain processes of the server's user", () => {
  let stage: AttackStage;
  beforeAll(async () => {
    stage = await openLoneStage({ SERVICE_PODS: "process" });
  }, OPEN_MS);
  afterAll(() => stage?.[Symbol.asyncDispose]());

  testTreeAttacks(() => stage);
});
