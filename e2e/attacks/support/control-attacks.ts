import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { totalmem } from "node:os";
import { collectEnvironment } from "@appdb/python-runtime/environments/collect-environment";
import { eventually } from "@appdb/testkit/eventually";
import { describe, expect, test } from "vitest";
import { type Asked, send } from "../../support/hosted.ts";
import { archiveOf, fileEntry } from "../../support/tree.ts";
import type { AttackTarget, Tenant } from "./attack-target.ts";
import { TENANT_APP } from "./tenant-app.ts";

/** Maximum response time of the control plane while it parses an expensive request. */
const PING_MS = 10_000;
const REQUEST_MS = 60_000;
const DEPENDENCIES = 12_000;
const SLASHES = 150_000;
const MEMBERS = 10_000_000;
const WEBHOOKS = 20;
const EVENTS = 10;
const ORGANIZATIONS = 6;
const FOLLOWERS = 200;

export const PROJECT = { "app.py": TENANT_APP };

/** Registers attacks on shared resources: the control plane's process, its workers, and the machine. */
export function testControlAttacks(open: () => AttackTarget): void {
  describe("a member who sends expensive work to the control plane", () => {
    test.each([
      ["many dependencies", lockDocument(Array.from({ length: DEPENDENCIES }, (_, at) => `d${at}`))],
      ["a long dependency", lockDocument([`a${" ".repeat(600_000)}x;`])],
    ])("blocks no one else with %s", async (_, environment) => {
      const { mallory } = open();
      const small = await plan(mallory, lockDocument(["d0", "d1"]));
      expect(small, small.text).toMatchObject({ status: 200 });
      expect(await late(open(), () => plan(mallory, environment))).toBe(0);
    });

    test("blocks no one else with millions of invalid members", async () => {
      const { mallory } = open();
      const { files } = await projectOf(mallory, PROJECT);
      const body = { settings: { include: Array(MEMBERS).fill(0) }, files, environment: NO_ENVIRONMENT };
      const send = async () =>
        expect(await mallory.ask("POST", "/databases/main/plan", body)).toMatchObject({ status: 422 });
      expect(await late(open(), send)).toBe(0);
    });

    test("blocks no one else with a registry address", async () => {
      const { mallory } = open();
      const registry = `https://a.invalid/${"/".repeat(SLASHES)}x`;
      const files = [
        { path: "pyproject.toml", text: '[project]\nname = "p"\nversion = "0"\ndependencies = ["d"]\n' },
        {
          path: "uv.lock",
          text: `version = 1\nrequires-python = ">=3.11"\n\n[[package]]\nname = "d"\nversion = "1"\nsource = { registry = "${registry}" }\nsdist = { url = "https://a.invalid/d-1.tar.gz", hash = "sha256:${"0".repeat(64)}", size = 1 }\n`,
        },
      ];
      const begun = await prepare(mallory, { ...NO_ENVIRONMENT, source: "uv.lock", files });
      const id = begun.json?.operation?.id;
      expect(await late(open(), async () => id !== undefined && (await mallory.ends(id)))).toBe(0);
    });

    test("blocks no start of others with webhooks that never answer", async () => {
      const { mallory, victim } = open();
      await using tarpit = await openTarpit();
      const made: string[] = [];
      try {
        for (let at = 0; at < WEBHOOKS; at += 1) {
          const hook = await mallory.ask("POST", "/webhooks", { url: `${tarpit.url}/${at}`, actions: ["key.*"] });
          if (hook.status === 201) made.push(hook.json.id);
        }
        expect(made.length).toBeGreaterThan(0);
        for (let at = 0; at < EVENTS; at += 1) {
          await mallory.ask("POST", "/keys", { name: `event-${at}` });
          await mallory.ask("DELETE", `/keys/event-${at}`);
        }
        await expect.poll(() => tarpit.connections(), { timeout: REQUEST_MS }).toBeGreaterThan(0);
        await victim.ask("POST", "/databases/main/stop");
        await victim.settles("STOPPED");
        await victim.ask("POST", "/databases/main/start");
        await victim.settles("AVAILABLE");
      } finally {
        for (const id of made) await mallory.ask("DELETE", `/webhooks/${id}`);
      }
    });

    test("blocks no build of others with endless builds", async () => {
      const { mallory, victim } = open();
      await using loops = await loopBuilds([{ ask: mallory.ask, databases: ["second", "third"] }]);
      expect(loops.begun).toBeGreaterThan(0);
      const begun = await prepare(victim, ...(await packageOf("honest", "")));
      expect(begun, begun.text).toMatchObject({ json: { operation: { id: expect.any(String) } } });
      expect(await victim.ends(begun.json.operation.id)).toBe("succeeded");
    });

    test("blocks no build of others with builds of two own organizations", async () => {
      const { hosted, victim } = open();
      const attackers: { readonly ask: Tenant["ask"]; readonly databases: readonly string[] }[] = [];
      for (const name of ["accomplice", "helper"]) {
        expect(await hosted.browse("POST", "/v1/orgs", { name })).toMatchObject({ status: 201 });
        const { json } = await hosted.browse("POST", `/v1/orgs/${name}/keys`, { name: "attack" });
        const url = `${hosted.url}/v1/orgs/${name}`;
        attackers.push({
          ask: (method, path, body) => send(url + path, json.api_key, method, body),
          databases: ["second"],
        });
      }
      await using loops = await loopBuilds(attackers);
      expect(loops.begun).toBe(2);
      const begun = await prepare(victim, ...(await packageOf("frank", "")));
      expect(begun, begun.text).toMatchObject({ json: { operation: { id: expect.any(String) } } });
      expect(await victim.ends(begun.json.operation.id)).toBe("succeeded");
    });

    test("can follow only a limited number of logs", async () => {
      const { hosted, mallory } = open();
      const url = `${hosted.url}/v1/orgs/mallory/databases/main/logs?follow=1`;
      const end = new AbortController();
      const headers = { "x-api-key": mallory.key };
      const statuses = await Promise.all(
        Array.from({ length: FOLLOWERS }, async () => (await fetch(url, { headers, signal: end.signal })).status),
      );
      end.abort();
      expect(statuses).toContain(200);
      expect(statuses.filter((status) => status === 200).length).toBeLessThan(FOLLOWERS);
    });
  });

  describe("a stranger who signs up", () => {
    test("can create only a limited number of organizations", async () => {
      const { hosted } = open();
      const headers: Record<string, string> = { origin: hosted.url, "content-type": "application/json" };
      const post = async (path: string, body: object) => {
        const answer = await fetch(hosted.url + path, { method: "POST", headers, body: JSON.stringify(body) });
        const cookie = answer.headers.getSetCookie()[0]?.split(";")[0];
        if (cookie !== undefined) headers.cookie = cookie;
        return { status: answer.status, text: await answer.text() };
      };
      const person = { email: "eve@example.com", name: "Eve", password: randomBytes(12).toString("hex") };
      const signed = await post("/v1/auth/sign-up/email", person);
      expect(signed, signed.text).toMatchObject({ status: 200 });
      const made = [];
      for (let at = 0; at < ORGANIZATIONS; at += 1) made.push((await post("/v1/orgs", { name: `eve-${at}` })).status);
      expect(made[0]).toBe(201);
      expect(made.filter((status) => status === 201).length).toBeLessThan(ORGANIZATIONS);
    });

    test("cannot give a database the memory of the whole machine", async () => {
      const { mallory } = open();
      const ask = async (memoryMb: number) =>
        await mallory.ask("POST", "/databases/main/plan", {
          ...(await projectOf(mallory, PROJECT)),
          settings: { memory_mb: memoryMb },
          environment: NO_ENVIRONMENT,
        });
      expect(await ask(512)).toMatchObject({ status: 200 });
      const all = await ask(Math.floor(totalmem() / 1024 ** 2));
      expect(all.status, all.text.slice(0, 500)).toBeGreaterThanOrEqual(400);
    });
  });
}

type Environment = Record<string, unknown>;
const NO_ENVIRONMENT: Environment = {
  source: null,
  files: [],
  python_version: null,
  system_packages: [],
  uv_options: null,
};

export async function projectOf(tenant: Tenant, texts: Readonly<Record<string, string>>) {
  await tenant.upload(Object.values(texts));
  return { settings: {}, files: Object.entries(texts).map(([path, text]) => fileEntry(path, text)) };
}

export async function plan(tenant: Tenant, environment: Environment): Promise<Asked> {
  return await tenant.ask("POST", "/databases/main/plan", { ...(await projectOf(tenant, PROJECT)), environment });
}

async function prepare(tenant: Tenant, environment: Environment, texts: Record<string, string> = {}): Promise<Asked> {
  const project = await projectOf(tenant, { ...PROJECT, ...texts });
  return await tenant.ask("POST", "/databases/main/preparations", { ...project, environment, app_file: "app.py" });
}

/** A matching lock and pyproject.toml with these dependencies. */
export function lockDocument(dependencies: readonly string[]): Environment {
  const pyproject = `[project]\nname = "p"\nversion = "0"\ndependencies = ${JSON.stringify(dependencies)}\n`;
  const required = dependencies.map((name) => `{ name = ${JSON.stringify(name)} }`).join(", ");
  const lock = `version = 1\n\n[[package]]\nname = "p"\nversion = "0"\nsource = { virtual = "." }\n\n[package.metadata]\nrequires-dist = [${required}]\n`;
  const files = [
    { path: "pyproject.toml", text: pyproject },
    { path: "uv.lock", text: lock },
  ];
  return { ...NO_ENVIRONMENT, source: "uv.lock", files };
}

/** A package in the project's files whose build runs this line. */
export async function packageOf(name: string, line: string): Promise<[Environment, Record<string, string>]> {
  const texts: Record<string, string> = {
    "requirements.txt": "./x\n",
    "x/pyproject.toml": `[project]\nname = "${name}"\nversion = "1"\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n`,
    "x/backend.py": `import os, time, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    ${line === "" ? "pass" : line}
    name = "${name}-1-py3-none-any.whl"
    info = "${name}-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: ${name}\\nVersion: 1\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", f"{info}METADATA,,\\n{info}WHEEL,,\\n{info}RECORD,,\\n")
    return name
`,
  };
  const entries = Object.entries(texts).map(([path, text]) => fileEntry(path, text));
  const environment = await collectEnvironment({ entries, readText: async (path) => texts[path] });
  return [{ ...environment }, texts];
}

/** Number of requests of another user that get no answer in time during the work. */
async function late({ hosted }: AttackTarget, work: () => Promise<unknown>): Promise<number> {
  let isDone = false;
  const done = Promise.race([work(), new Promise((resolve) => setTimeout(resolve, REQUEST_MS).unref())]).finally(() => {
    isDone = true;
  });
  let count = 0;
  while (!isDone) {
    const answered = await fetch(`${hosted.url}/v1/service`, { signal: AbortSignal.timeout(PING_MS) }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (!answered) count += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await done;
  return count;
}

/** Starts endless builds and waits until the allowed ones run; disposing cancels them. */
async function loopBuilds(
  attackers: readonly { readonly ask: Tenant["ask"]; readonly databases: readonly string[] }[],
): Promise<AsyncDisposable & { readonly begun: number }> {
  const [environment, texts] = await packageOf("loop", "while True: time.sleep(1)");
  const all = { ...PROJECT, ...texts };
  const files = Object.entries(all).map(([path, text]) => fileEntry(path, text));
  const begun: { readonly ask: Tenant["ask"]; readonly id: string }[] = [];
  for (const { ask, databases } of attackers) {
    await ask("PUT", "/blobs", archiveOf(Object.values(all)));
    for (const name of databases) {
      const body = { settings: {}, files, environment, expected_generation: 0, allow_destructive: false };
      const id = (await ask("POST", `/databases/${name}/update`, body)).json?.operation?.id;
      if (id !== undefined) begun.push({ ask, id });
    }
  }
  await eventually(
    async () => {
      const logs = await Promise.all(begun.map(({ ask, id }) => ask("GET", `/operations/${id}/log`)));
      expect(logs.filter(({ text }) => text.includes("Building")).length).toBeGreaterThanOrEqual(attackers.length);
    },
    { timeout_ms: REQUEST_MS },
  );
  return {
    begun: begun.length,
    [Symbol.asyncDispose]: async () => {
      for (const { ask, id } of begun) await ask("POST", `/operations/${id}/cancel`);
    },
  };
}

interface Tarpit extends AsyncDisposable {
  readonly url: string;
  connections(): number;
}

/** Accepts connections and never answers. */
export async function openTarpit(): Promise<Tarpit> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the system gave no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    connections: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
