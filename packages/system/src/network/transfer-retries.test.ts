import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError, type ErrorCode, toProblem } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { getFile } from "./transfer-file.ts";

/** Gets a file from a server that always refuses. Returns the error and the number of requests. */
async function getRefused(code: ErrorCode) {
  let asked = 0;
  const problem = toProblem(appError(code, { detail: "The store said no.", hint: "Ask the operator." }));
  const server = createServer((_req, res) => {
    asked += 1;
    res.writeHead(problem.status, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  const transfer = { signal: new AbortController().signal, pauses_s: [0, 0] };
  const error = await getFile(address, join(tmpdir(), "never-written"), "00", transfer).catch(
    (given: unknown) => given,
  );
  server.close();
  return { error, asked };
}

test.each(["media_denied", "media_store_not_found"] as const)(
  "a refusal that stays is not retried: %s",
  async (code) => {
    const { asked, error } = await getRefused(code);
    expect(error).toMatchObject({ code, message: "The store said no.", hint: "Ask the operator." });
    expect(asked).toBe(1);
  },
);

test("a store that does not answer is asked again, and the error has one full stop", async () => {
  const { asked, error } = await getRefused("media_unavailable");
  expect(error).toMatchObject({
    code: "server_unreachable",
    message: "A file could not be copied after several attempts: The store said no.",
  });
  expect(asked).toBe(3);
});
