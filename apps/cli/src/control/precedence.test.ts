import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ControlServer, startControlServer } from "../testing/control-server.ts";
import { openTestProject, type TestProject, WHO } from "../testing/test-project.ts";

const TOKEN = "session-token";
const key = (letter: string) => `sk_${letter.repeat(12)}_${letter.repeat(43)}`;
const KEY = { id: "k1", name: "ci", grants: [] };

let project: TestProject;
let server: ControlServer;

/** A server that reports the credential's header and refuses unknown credentials; a key takes precedence. */
beforeEach(async () => {
  project = openTestProject();
  mkdirSync(project.home);
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
  project[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const home = (name: string, text: string) => writeFileSync(join(project.home, name), text, { mode: 0o600 });
const writeProject = (name: string, text: string) => writeFileSync(join(project.folder, name), text);
const signIn = () =>
  home("sessions.json", JSON.stringify({ sessions: { [server.url]: { token: TOKEN, email: "a@b.c" } } }));
const sent = () => server.asked.at(-1)?.headers;

async function whoami(env: Record<string, string> = {}) {
  const ran = await project.run("whoami --json", { env: { SERVICE_API_URL: server.url, ...env } });
  return { ...ran, said: JSON.parse(ran.stdout) };
}

describe("precedence of credentials", () => {
  test("uses SERVICE_API_KEY, project key, home key, then sign-in", async () => {
    expect((await whoami()).said).toMatchObject({ code: "not_signed_in", hint: expect.stringContaining("cli login") });
    signIn();
    const session = { kind: "session", source: join(project.home, "sessions.json") };
    expect((await whoami()).said.credential).toEqual(session);
    expect(sent()).toMatchObject({ authorization: `Bearer ${TOKEN}` });
    home("config.toml", `[service]\napi_key = "${key("h")}"\n`);
    expect((await whoami()).said.credential).toEqual({ kind: "api_key", source: join(project.home, "config.toml") });
    expect(sent()).toMatchObject({ "x-api-key": key("h") });
    writeProject("pyproject.toml", `[tool.service]\napi_key = "${key("p")}"\n`);
    expect((await whoami()).said.credential.source).toContain("pyproject.toml");
    expect(sent()).toMatchObject({ "x-api-key": key("p") });
    const { said, stdout, stderr } = await whoami({ SERVICE_API_KEY: ` ${key("e")}\n` });
    expect(said.credential).toEqual({ kind: "api_key", source: "SERVICE_API_KEY" });
    expect(sent()).toMatchObject({ "x-api-key": key("e") });
    expect(sent()?.authorization).toBeUndefined();
    expect(stdout + stderr).not.toContain(key("e"));
  });

  test("ignores an empty SERVICE_API_KEY and a commented key", async () => {
    signIn();
    writeProject("service.toml", `[service]\n# api_key = "${key("p")}"\n[[service.database]]\n`);
    expect((await whoami({ SERVICE_API_KEY: "" })).said.credential.kind).toBe("session");
  });

  test("refuses a bad key despite a sign-in and names its source", async () => {
    signIn();
    const { exit, said } = await whoami({ SERVICE_API_KEY: key("x") });
    expect(exit).toBe(1);
    expect(said).toMatchObject({
      code: "unauthorized",
      detail: `${server.url} does not accept the API key of SERVICE_API_KEY: It is not known.`,
      hint: expect.stringContaining("remove it from SERVICE_API_KEY"),
    });
    expect(JSON.stringify(said)).not.toContain(key("x"));
  });

  test("refuses an unsendable key before any request without showing it", async () => {
    const { said } = await whoami({ SERVICE_API_KEY: "sk_a\nx-evil: 1" });
    expect(said).toMatchObject({ code: "config_invalid", detail: expect.stringContaining("SERVICE_API_KEY") });
    expect(JSON.stringify(said)).not.toContain("evil");
    expect(server.asked).toEqual([]);
  });

  test("reports a misspelled key in config.toml with a suggestion", async () => {
    home("config.toml", '# mine\n[service]\napi_kee = "x"\n');
    const { said } = await whoami();
    expect(said.detail).toBe(
      `${join(project.home, "config.toml")}:3: 'api_kee' in [service]: is not a known key; did you mean 'api_key'?`,
    );
  });

  test("whoami explains all of it", async () => {
    signIn();
    const env = { SERVICE_API_URL: server.url };
    expect((await project.run("whoami", { env })).stdout).toBe(
      `ann@example.com on ${server.url}\nOrganization: acme (owner)\n` +
        `Commands use the sign-in of ${join(project.home, "sessions.json")}; the server is from SERVICE_API_URL.\n`,
    );
    expect((await project.run("whoami", { env: { ...env, SERVICE_API_KEY: key("e") } })).stdout).toBe(
      `API key ci on ${server.url}\nIt acts as ann@example.com.\nOrganization: acme (owner)\n` +
        "Commands use the API key of SERVICE_API_KEY; the server is from SERVICE_API_URL.\n",
    );
  });
});

describe("precedence of servers", () => {
  test("uses SERVICE_API_URL, config.toml, then this home's server", async () => {
    const env = { SERVICE_API_KEY: key("e") };
    const source = async (more = {}) =>
      JSON.parse((await project.run("whoami --json", { env: { ...env, ...more } })).stdout);
    expect(await source()).toMatchObject({
      code: "server_unreachable",
      detail: expect.stringContaining("No server is known"),
    });
    home("server.json", JSON.stringify({ url: server.url, pid: process.pid }));
    expect((await source()).server.source).toBe(join(project.home, "server.json"));
    home("config.toml", `[service]\napi_url = "${server.url}/"\n`);
    expect((await source()).server).toEqual({ url: server.url, source: join(project.home, "config.toml") });
    home("config.toml", '[service]\napi_url = "http://127.0.0.1:1"\n');
    expect((await source({ SERVICE_API_URL: server.url })).server).toEqual({
      url: server.url,
      source: "SERVICE_API_URL",
    });
  });

  test("ignores servers that a project names", async () => {
    writeProject("service.toml", `[service]\napi_url = "${server.url}"\napi_key = "${key("p")}"\n`);
    const ran = await project.run("whoami", { env: { SERVICE_API_URL: server.url } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("service.toml:2: 'api_url' in [service]: is not a known key");
    expect(server.asked).toEqual([]);
  });

  test("does not contact a killed server of this home", async () => {
    home("server.json", JSON.stringify({ url: server.url, pid: 2 ** 22 + 1 }));
    const ran = await project.run("whoami", { env: { SERVICE_API_KEY: key("e") } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(`The server of this home does not run; it was at ${server.url}`);
    expect(server.asked).toEqual([]);
  });

  test("reports an unresponsive server with its address and setting", async () => {
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

  test("reports a connection failure with the system's message", async () => {
    const url = server.url.replace("http:", "https:");
    const { said } = await whoami({ SERVICE_API_URL: url, SERVICE_API_KEY: key("e") });
    expect(said).toMatchObject({
      code: "server_unreachable",
      detail: expect.stringMatching(/SERVICE_API_URL\): .*SSL/),
    });
  });

  test("refuses an invalid address and names its setting", async () => {
    const { said } = await whoami({ SERVICE_API_URL: "cloud.example.com" });
    expect(said).toMatchObject({ code: "config_invalid", detail: expect.stringContaining("SERVICE_API_URL") });
  });
});
