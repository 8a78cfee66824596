import { appError } from "@appdb/contract/errors";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import type { MediaFiles } from "../ports.ts";
import { compileMediaRoute, withMediaAddresses } from "./media-routes.ts";

const FILE = { bytes: 4, type: "image/png", name: "a.png", etag: '"e"', read: async () => [] as never };

function routeOf(is_fixed: boolean) {
  const media = {
    readAddress: (token: string) => {
      if (token === "forged") throw appError("media_address_invalid", { detail: "No." });
      return "cell";
    },
    open: async () => ({ ...FILE, is_fixed }),
  } as unknown as MediaFiles;
  return compileMediaRoute("photos", media, createSilentLog());
}

async function ask(is_fixed: boolean, token: string) {
  const address = { method: "GET", params: { token, name: "a.png" }, scheme: "http", host: "h", root_path: "" };
  return await routeOf(is_fixed).handle({ id: "1", headers: {}, body: "", route: address } as never);
}

test("the address of a stored file may be kept, and that of a file elsewhere is asked for again", async () => {
  expect((await ask(true, "good")).headers["cache-control"]).toContain("immutable");
  expect((await ask(false, "good")).headers["cache-control"]).toBe("private, no-cache");
});

test("a page of any origin may read a signed address, and no cache mixes the answers of two", async () => {
  expect(routeOf(true).cors).toMatchObject({ origins: ["*"], methods: ["GET", "HEAD"], credentials: false });
  expect((await ask(true, "good")).headers).toMatchObject({
    "cross-origin-resource-policy": "cross-origin",
    vary: "origin",
  });
});

test("a forged token is refused", async () => {
  expect((await ask(true, "forged")).status).toBe(403);
});

test("a reference that cannot become an address is an error of the request", async () => {
  const media = {
    addressOf() {
      throw new URIError("URI malformed");
    },
  } as unknown as MediaFiles;
  const headers = { "content-type": "application/json; charset=utf-8" };
  const answering = {
    ...routeOf(true),
    handle: async () => ({ status: 200, headers, body: '{"a":\u0001cell\u0002}' }),
  };
  const route = withMediaAddresses(answering, media, createSilentLog());
  const address = { method: "GET", params: {}, scheme: "http", host: "h", root_path: "" };
  const answer = await route.handle({ id: "1", headers: {}, body: "", route: address } as never);
  expect(answer.status).toBe(500);
});
