import { Secret } from "@appdb/system/secret";
import { expect, test } from "vitest";
import { openServer } from "../testing/open-server.ts";
import { changeOnce, createAnswerSeal } from "./idempotency.ts";

test("a stored answer under another secret is reported, and the change is not repeated", async () => {
  await using server = await openServer();
  const input = { principal: undefined, route: "test", key: "one", request: {} };
  let made = 0;
  const change = (secret: string) =>
    changeOnce(server.deps.db, createAnswerSeal(new Secret(secret)), input, 200, async () => {
      made += 1;
      return { made };
    });
  expect(await change("the first secret")).toEqual({ answer: { made: 1 }, is_repeated: false });
  await expect(change("another secret")).rejects.toMatchObject({ code: "idempotency_mismatch" });
  expect(await change("the first secret")).toEqual({ answer: { made: 1 }, is_repeated: true });
  expect(made).toBe(1);
});
