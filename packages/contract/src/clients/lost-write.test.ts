import { expect, test } from "vitest";
import { CONTROL_ROUTES, type ControlRoute } from "../routes/control-paths.ts";
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

test("a read whose connection breaks says so, and not that no server runs", async () => {
  const read = hosted(failing("ECONNRESET")).call("operationShow", { params: { org: "acme", id: "op1" } });
  await expect(read).rejects.toMatchObject({
    code: "server_unreachable",
    message: expect.stringMatching(
      /^The connection to https:\/\/acme\.test broke before the answer to GET \/v1\/orgs\/:org\/operations\/:id/,
    ),
    hint: "Try again in a moment. If the server stopped, its operator must start it.",
  });
});

test.each([
  ["keyCreate", "cli key list -l --org acme. If it is there, give it a secret that you can read: cli key rotate"],
  ["secretSet", "cli secret list acme"],
  ["databaseSecretSet", "cli secret list cloud://acme:main"],
  ["databaseRestart", "cli operations list --org acme --database main"],
  ["serviceStop", "cli service list cloud://acme:main"],
  ["mediaRemove", "cli media ls -r mediafs://acme:main/home"],
  ["schemaPrune", "cli history cloud://acme:main"],
  ["webhookCreate", "cli events --org acme"],
  ["orgCreate", "cli org list"],
] as const)("%s whose response is lost has an unknown outcome", async (name, look) => {
  const { method, path } = CONTROL_ROUTES[name];
  const lost = hosted(failing("ECONNRESET")).call(name, { params: { ...params, name: "x", service: "s" } } as never);
  await expect(lost).rejects.toMatchObject({
    code: "commit_unknown",
    message: `The connection to https://acme.test broke before the answer: ${method} ${path} may or may not be done.`,
    hint: expect.stringContaining(look),
  });
});

test("a change of a table whose response is lost may continue", async () => {
  const lost = hosted(failing("ECONNRESET")).call("tableChange", { params, body: {} as never });
  await expect(lost).rejects.toMatchObject({ code: "server_failed", message: expect.stringContaining("unknown") });
});

test("a daemon that breaks off a change names the list to look at", async () => {
  const client = createLocalClient({ port: 1, token: "t", fetch: failing("UND_ERR_SOCKET") });
  await expect(client.call("databaseCreate", { body: {} as never })).rejects.toMatchObject({
    code: "commit_unknown",
    hint: "Look before you try again: cli db list --local",
  });
});

test("a plan whose response is lost, and a change without a connection, changed nothing", async () => {
  const plan = hosted(failing("ECONNRESET")).call("schemaPlan", { params, body: {} as never });
  await expect(plan).rejects.toMatchObject({ code: "server_unreachable" });
  const never = Object.assign(new Error("connect ETIMEDOUT"), { code: "ETIMEDOUT", syscall: "connect" });
  const change = hosted(() => Promise.reject(never)).call("keyCreate", { params, body: {} as never });
  await expect(change).rejects.toMatchObject({ code: "server_unreachable" });
});

test("requests that show or plan something are marked safe", () => {
  const posts = Object.values<ControlRoute>(CONTROL_ROUTES).filter(({ method }) => method === "POST");
  const shown = posts.filter(({ summary }) => /^(Show|List|Read|Explain|Run|Make addresses)/.test(summary));
  expect(shown.filter((route) => route.is_safe !== true).map(({ path }) => path)).toEqual([]);
});
