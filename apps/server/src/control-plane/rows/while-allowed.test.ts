import { once } from "node:events";
import type { FastifyRequest } from "fastify";
import { expect, test } from "vitest";
import { whileAllowed } from "./while-allowed.ts";

const REQUEST = {} as FastifyRequest;

test("ends the work of a caller who loses the permission", async () => {
  let checks = 0;
  const mayStillRead = async () => {
    checks += 1;
    if (checks === 1) throw new Error("The database does not answer.");
    return checks < 4;
  };
  await whileAllowed({ mayStillRead }, REQUEST, async (lost) => void (await once(lost, "abort")), 1);
  expect(checks).toBe(4);
});

test("returns what the work returns, and checks no more", async () => {
  const found = await whileAllowed({ mayStillRead: async () => false }, REQUEST, async (lost) => lost.aborted, 1);
  expect(found).toBe(false);
});
