import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ControlServer, startControlServer } from "../testing/control-server.ts";
import { type ControlWorld, openControlWorld, WHO } from "../testing/control-world.ts";

const TOKEN = "session-token";
const key = (letter: string) => `sk_${letter.repeat(12)}_${letter.repeat(43)}`;
const KEY = { id: "k1", name: "ci", grants: [] };

let world: ControlWorld;
let server: ControlServer;

/** Answers who was asked for by which header, and refuses what it does not know: the key first, as a server does. */
beforeEach(async () => {
  world = openControlWorld();
  mkdirSync(world.home);
  server = await startControlServer({
    answers: {
      whoami: ({ headers }) => {
        const sent = headers["x-api-key"];
        if (sent === undefined && headers.authorization === `Bearer ${TOKEN}`) return WHO;
        if (sent === undefined || sent === key("x")) throw appError("unauthorized", { detail: "It is not known." });
        return { ...WHO, kind: "key", key: KEY };
      },
    },
  });
});
afterEach(async () => {
  world[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const home = (name: string, text: string) => writeFileSync(join(world.home, name), text, { mode: 0o600 });
const project = (name: string, text: string) => writeFileSync(join(world.project, name), text);
const signIn = () =>
  home("sessions.json", JSON.stringify({ sessions: { [server.url]: { token: TOKEN, email: "a@b.c" } } }));
const sent = () => server.asked.at(-1)?.headers;

async function whoami(env: Record<string, string> = {}) {
  const ran = await world.run("whoami --json", { env: { SERVICE_API_URL: server.url, ...env } });
  return { ...ran, said: JSON.parse(ran.stdout) };
}

describe("which credential is used", () => {
  test("SERVICE_API_KEY, else the project's key, else the home's, else the sign-in; whoami says which", async () => {
    expect((await whoami()).said).toMatchObject({ code: "not_signed_in", hint: expect.stringContaining("cli login") });
    signIn();
    const session = { kind: "session", source: join(world.home, "sessions.json") };
    expect((await whoami()).said.credential).toEqual(session);
    expect(sent()).toMatchObject({ authorization: `Bearer ${TOKEN}` });
    home("config.toml", `[service]\napi_key = "${key("h")}"\n`);
    expect((await whoami()).said.credential).toEqual({ kind: "api_key", source: join(world.home, "config.toml") });
    expect(sent()).toMatchObject({ "x-api-key": key("h") });
    project("pyproject.toml", `[tool.service]\napi_key = "${key("p")}"\n`);
    expect((await whoami()).said.credential.source).toContain("pyproject.toml");
    expect(sent()).toMatchObject({ "x-api-key": key("p") });
    const { said, stdout, stderr } = await whoami({ SERVICE_API_KEY: ` ${key("e")}\n` });
    expect(said.credential).toEqual({ kind: "api_key", source: "SERVICE_API_KEY" });
    expect(sent()).toMatchObject({ "x-api-key": key("e") });
    expect(sent()?.authorization).toBeUndefined();
    expect(stdout + stderr).not.toContain(key("e"));
  });

  test("an empty SERVICE_API_KEY and a key in a comment are none", async () => {
    signIn();
    project("service.toml", `[service]\n# api_key = "${key("p")}"\n[[service.database]]\n`);
    expect((await whoami({ SERVICE_API_KEY: "" })).said.credential.kind).toBe("session");
  });

  test("a bad key beside a good sign-in is refused, and told by where it came from", async () => {
    signIn();
    const { exit, said } = await whoami({ SERVICE_API_KEY: key("x") });
    expect(exit).toBe(1);
    expect(said).toMatchObject({
      code: "unauthorized",
      detail: `${server.url} does not accept the API key of SERVICE_API_KEY: It is not known.`,
      hint: expect.stringContaining("take it out of SERVICE_API_KEY"),
    });
    expect(JSON.stringify(said)).not.toContain(key("x"));
  });

  test("a key that no header takes is refused before any request, and not shown", async () => {
    const { said } = await whoami({ SERVICE_API_KEY: "sk_a\nx-evil: 1" });
    expect(said).toMatchObject({ code: "config_invalid", detail: expect.stringContaining("SERVICE_API_KEY") });
    expect(JSON.stringify(said)).not.toContain("evil");
    expect(server.asked).toEqual([]);
  });

  test("a misspelt key in the home's config.toml is told by file, line and what was meant", async () => {
    home("config.toml", '# mine\n[service]\napi_kee = "x"\n');
    const { said } = await whoami();
    expect(said.detail).toBe(
      `${join(world.home, "config.toml")}:3: 'api_kee' in [service]: is not a known key; did you mean 'api_key'?`,
    );
  });

  test("a person reads all of it in whoami", async () => {
    signIn();
    const env = { SERVICE_API_URL: server.url };
    expect((await world.run("whoami", { env })).stdout).toBe(
      `ann@example.com on ${server.url}\nOrganization: acme (owner)\n` +
        `Commands use the sign-in of ${join(world.home, "sessions.json")}; the server is from SERVICE_API_URL.\n`,
    );
    expect((await world.run("whoami", { env: { ...env, SERVICE_API_KEY: key("e") } })).stdout).toBe(
      `API key ci on ${server.url}\nIt acts as ann@example.com.\nOrganization: acme (owner)\n` +
        "Commands use the API key of SERVICE_API_KEY; the server is from SERVICE_API_URL.\n",
    );
  });
});

describe("which server is asked", () => {
  test("SERVICE_API_URL, else the home's config.toml, else the server of this home", async () => {
    const env = { SERVICE_API_KEY: key("e") };
    const source = async (more = {}) =>
      JSON.parse((await world.run("whoami --json", { env: { ...env, ...more } })).stdout);
    expect(await source()).toMatchObject({
      code: "server_unreachable",
      detail: expect.stringContaining("No server is known"),
    });
    home("server.json", JSON.stringify({ url: server.url, pid: process.pid }));
    expect((await source()).server.source).toBe(join(world.home, "server.json"));
    home("config.toml", `[service]\napi_url = "${server.url}/"\n`);
    expect((await source()).server).toEqual({ url: server.url, source: join(world.home, "config.toml") });
    home("config.toml", '[service]\napi_url = "http://127.0.0.1:1"\n');
    expect((await source({ SERVICE_API_URL: server.url })).server).toEqual({
      url: server.url,
      source: "SERVICE_API_URL",
    });
  });

  test("never one that a project names", async () => {
    project("service.toml", `[service]\napi_url = "${server.url}"\napi_key = "${key("p")}"\n`);
    const ran = await world.run("whoami", { env: { SERVICE_API_URL: server.url } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("service.toml:2: 'api_url' in [service]: is not a known key");
    expect(server.asked).toEqual([]);
  });

  test("a server of this home that was killed is not asked: a stranger may have its port", async () => {
    home("server.json", JSON.stringify({ url: server.url, pid: 2 ** 22 + 1 }));
    const ran = await world.run("whoami", { env: { SERVICE_API_KEY: key("e") } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(`The server of this home does not run; it was at ${server.url}`);
    expect(server.asked).toEqual([]);
  });

  test("one that does not answer is told with its address and the setting that it came from", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as { port: number };
    closed.close();
    const { exit, said, stderr } = await whoami({
      SERVICE_API_URL: `http://127.0.0.1:${port}`,
      SERVICE_API_KEY: key("e"),
    });
    expect(exit).toBe(1);
    expect(said.code).toBe("server_unreachable");
    expect(stderr).toContain(`error: No server responds at http://127.0.0.1:${port} (from SERVICE_API_URL).\nhint: `);
  });

  test("one that cannot be talked to is told with what the system says", async () => {
    const url = server.url.replace("http:", "https:");
    const { said } = await whoami({ SERVICE_API_URL: url, SERVICE_API_KEY: key("e") });
    expect(said).toMatchObject({
      code: "server_unreachable",
      detail: expect.stringMatching(/SERVICE_API_URL\): .*SSL/),
    });
  });

  test("an address that is none is refused by the setting that it came from", async () => {
    const { said } = await whoami({ SERVICE_API_URL: "cloud.example.com" });
    expect(said).toMatchObject({ code: "config_invalid", detail: expect.stringContaining("SERVICE_API_URL") });
  });
});
