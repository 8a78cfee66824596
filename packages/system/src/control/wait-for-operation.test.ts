import type { ControlClient } from "@appdb/contract/clients/control-client";
import { appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { waitForOperation } from "./wait-for-operation.ts";

test("the outcome of an operation is unknown while its server stays away", async () => {
  let asked = 0;
  const client = {
    call: async () => {
      asked += 1;
      throw appError("server_unreachable", { detail: "No server responds at http://127.0.0.1:1." });
    },
  } as unknown as ControlClient;
  const signal = new AbortController().signal;
  await expect(waitForOperation(client, { org: "acme", id: "op1", signal, retries: 1 })).rejects.toMatchObject({
    code: "commit_unknown",
    message: "The operation op1 was requested, and its outcome is unknown. No server responds at http://127.0.0.1:1.",
    hint: "A server that starts again continues it. Then look: cli operations show op1",
  });
  expect(asked).toBe(2);
});
