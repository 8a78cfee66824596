import { once } from "node:events";
import { request } from "node:http";
import { endOf } from "@appdb/http/mount-api";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { createJsonApi } from "./json-api.ts";

/** The log of a request whose handler fails after its client has left. */
async function logOfLeft(failure: (reason: unknown) => unknown) {
  const log = createSilentLog();
  const app = createJsonApi({ log, name: "daemon", close: "all", authorize: () => undefined });
  let isRunning = false;
  app.get("/", async (_request, reply) => {
    isRunning = true;
    const signal = endOf(reply);
    await once(signal, "abort");
    throw failure(signal.reason);
  });
  const sent = request(await app.listen({ port: 0, host: "127.0.0.1" }));
  sent.on("error", () => undefined);
  sent.end();
  await eventually(() => expect(isRunning).toBe(true));
  sent.destroy();
  await eventually(() => expect(log.lines).toHaveLength(1));
  await app.close();
  return log.lines.map(({ level, message }) => [level, message]);
}

test("logs no error for a request whose client left", async () => {
  const left = [["info", "the client of a request left"]];
  expect(await logOfLeft((reason) => reason)).toEqual(left);
  expect(await logOfLeft((cause) => new Error("The program was stopped.", { cause }))).toEqual(left);
});

test("logs no error for a body that its client cut", async () => {
  const log = createSilentLog();
  const app = createJsonApi({ log, name: "daemon", close: "all", authorize: () => undefined });
  app.post("/", async () => ({}));
  const sent = request(await app.listen({ port: 0, host: "127.0.0.1" }), {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": "20" },
  });
  sent.on("error", () => undefined);
  const arrived = once(app.server, "request");
  sent.write('{"a"');
  await arrived;
  sent.destroy();
  await eventually(() => expect(log.lines).toMatchObject([{ level: "info", message: "the client of a request left" }]));
  await app.close();
});

test("logs another error of a request whose client left", async () => {
  expect(await logOfLeft(() => new Error("broken"))).toEqual([["error", "a request failed"]]);
});
