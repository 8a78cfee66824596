import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseFreePort, isPortFree, retryLostPort } from "./free-port.ts";

const other = createServer();
let taken: number;

beforeEach(async () => {
  other.listen({ port: 0, host: "127.0.0.1", exclusive: true });
  await once(other, "listening");
  taken = (other.address() as AddressInfo).port;
});

afterEach(() => {
  other.close();
});

test("a port in use by a program is not free", async () => {
  expect(await isPortFree(taken)).toBe(false);
});

test("a service whose port was taken meanwhile starts on another one", async () => {
  const port = await chooseFreePort("main/api", new Set());
  let starts = 0;
  const started = await retryLostPort({ state: "FAILED", port: taken }, async () => {
    starts += 1;
    return { state: "AVAILABLE", port };
  });
  expect(started).toEqual({ state: "AVAILABLE", port });
  expect(starts).toBe(1);
});

test("limits restarts of a service that keeps failing", async () => {
  const failed = { state: "FAILED", port: await chooseFreePort("main/api", new Set()) };
  const never = () => Promise.reject(new TypeError("it was started again"));
  expect(await retryLostPort(failed, never)).toBe(failed);
  let starts = 0;
  const unlucky = { state: "FAILED", port: taken };
  await retryLostPort(unlucky, async () => {
    starts += 1;
    return unlucky;
  });
  expect(starts).toBe(3);
});
