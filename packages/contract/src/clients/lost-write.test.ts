import { expect, test } from "vitest";
import type { FetchLike } from "./client.ts";
import { createControlClient } from "./control-client.ts";
import { createLocalClient } from "./local-client.ts";

const broke = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
const failing =
  (code: string): FetchLike =>
  async () => {
    throw broke(code);
  };
const hosted = (fetch: FetchLike) =>
  createControlClient({ url: "https://acme.test", url_source: "a test", credential: async () => ({}), fetch });
const params = { org: "acme", db: "main", table: "docs" };

test.each([
  ["rowInsert", "the rows may or may not be stored."],
  ["rowUpdate", "the rows may or may not be changed."],
  ["rowDelete", "the rows may or may not be deleted."],
] as const)("%s whose connection breaks has an unknown outcome", async (name, unknown) => {
  await expect(hosted(failing("ECONNRESET")).text(name, { params, sent: "{}" } as never)).rejects.toMatchObject({
    code: "commit_unknown",
    message: `The connection to https://acme.test broke before the answer: ${unknown}`,
  });
});

test("an insert whose response breaks has an unknown outcome", async () => {
  const text = async () => {
    throw broke("UND_ERR_SOCKET");
  };
  const client = hosted(async () => ({ status: 200, text, body: null }));
  await expect(client.text("rowInsert", { params, sent: "{}" })).rejects.toMatchObject({ code: "commit_unknown" });
});

test("a daemon that breaks off an insert has an unknown outcome", async () => {
  const client = createLocalClient({ port: 1, token: "t", fetch: failing("ECONNRESET") });
  await expect(client.text("rowInsert", { params, sent: "{}" })).rejects.toMatchObject({
    code: "commit_unknown",
    message: "The connection to the daemon broke before the answer: the rows may or may not be stored.",
  });
});

test("a read, and a write without a connection, changed nothing", async () => {
  const read = hosted(failing("ECONNRESET")).text("rowList", { params });
  await expect(read).rejects.toMatchObject({ code: "server_unreachable" });
  const write = hosted(failing("ECONNREFUSED")).text("rowInsert", { params, sent: "{}" });
  await expect(write).rejects.toMatchObject({ code: "server_unreachable" });
});
