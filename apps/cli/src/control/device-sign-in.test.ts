import type { FetchLike } from "@appdb/contract/clients/client";
import { describe, expect, test } from "vitest";
import { signInByDevice } from "./device-sign-in.ts";

const CODE = {
  device_code: "d",
  user_code: "ABCD2345",
  verification_uri: "https://x.example.com/device",
  expires_in: 60,
};

/** Signs in at a server with these answers to polls, on a clock that only waits advance. */
async function signIn(code: object, polls: readonly (object | Error)[]) {
  const waits: number[] = [];
  const retries: string[] = [];
  let now = 0;
  let poll = 0;
  const fetch: FetchLike = async (url) => {
    const said = url.endsWith("/code") ? code : (polls[poll++] ?? { error: "authorization_pending" });
    if (said instanceof Error) throw said;
    const usual = "error" in said ? 400 : 200;
    const status = "status" in said ? Number(said.status) : usual;
    return { status, text: async () => JSON.stringify(said), body: null };
  };
  const result = signInByDevice({
    server: { url: "https://x.example.com", source: "SERVICE_API_URL" },
    signal: new AbortController().signal,
    fetch,
    onCode: () => undefined,
    onRetry: (reason) => retries.push(reason),
    clock: {
      now: () => now,
      wait: async (ms) => {
        waits.push(ms / 1000);
        now += ms;
      },
    },
  });
  return { result: await result.catch((error: unknown) => error), waits, retries };
}

const pending = { error: "authorization_pending" };
const slower = { error: "slow_down" };
const token = { access_token: "t" };

describe("the polling interval of a sign-in", () => {
  test("follows the server, defaults to 5 s and grows with slow_down", async () => {
    expect((await signIn({ ...CODE, interval: 2 }, [pending, token])).waits).toEqual([2, 2]);
    expect((await signIn(CODE, [pending, slower, pending, slower, token])).waits).toEqual([5, 5, 10, 10, 15]);
  });

  test("doubles while the server does not respond and reports it", async () => {
    const gone = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const { result, retries, waits } = await signIn(CODE, [gone, gone, token]);
    expect(result).toBe("t");
    expect(waits).toEqual([5, 10, 20]);
    expect(retries).toEqual(["read ECONNRESET", "read ECONNRESET"]);
  });

  test("ends when the code expires, even without the server's answer", async () => {
    const { result, waits } = await signIn(CODE, []);
    expect(result).toMatchObject({ code: "sign_in_expired" });
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBe(65);
  });

  test("recognizes the address of a service as wrong", async () => {
    const { result } = await signIn({ code: "unauthorized", detail: "The request shows no API key.", status: 401 }, []);
    expect(result).toMatchObject({
      code: "server_failed",
      message: expect.stringContaining("https://x.example.com (from SERVICE_API_URL) is not the control plane"),
      hint: "Use the address of the dashboard: cli login --server https://...",
    });
  });

  test("stops after an answer outside the RFC", async () => {
    const { result } = await signIn(CODE, [{ error: "invalid_grant", error_description: "Client ID mismatch" }]);
    expect(result).toMatchObject({ code: "server_failed", message: expect.stringContaining("Client ID mismatch") });
  });
});
