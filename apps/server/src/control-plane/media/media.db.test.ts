import { MAX_ADDRESSES } from "@appdb/contract/routes/media-files";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DatabaseWithPod, openDatabaseWithPod } from "../../testing/databases.ts";
import { sendJson } from "../../testing/fake-pod.ts";
import { type Credential, openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey } from "../../testing/people.ts";

const HASH = "a".repeat(64);
const FILE = { name: "a.jpg", key: `aa/${HASH}.jpg`, bytes: 3, type: "image/jpeg", sha256: HASH };

let server: TestServer;
let setup: DatabaseWithPod;
let replaced = 0;
beforeAll(async () => {
  server = await openServer();
  setup = await openDatabaseWithPod(server);
  await server.deps.db
    .updateTable("control.databases")
    .set({ gateway_port: 40_123 })
    .where("id", "=", setup.database_id)
    .execute();
  setup.pod.answer = ({ route }, response) => {
    if (route.startsWith("GET /v1/media/usage")) {
      return sendJson(response, {
        files: 1,
        bytes: 3,
        entries: [],
        stored: { objects: 1, bytes: 3 },
        room_bytes: 9,
        room_of: "disk_gb",
      });
    }
    if (route.startsWith("GET /v1/media")) return sendJson(response, { items: [], next: null });
    if (route === "POST /v1/media/remove") return sendJson(response, { removed: 2, missing: [] });
    if (route === "POST /v1/media/prune") return sendJson(response, { objects: 2, bytes: 6 });
    if (route === "POST /v1/media/read") {
      return sendJson(response, { files: [{ ...FILE, address: "/_media/a.jpg?token" }] });
    }
    if (replaced > 0) {
      const file = { stored: null, is_same: false, replaces: true, address: "/_media/a.jpg?token" };
      return sendJson(response, { files: Array(replaced).fill(file) });
    }
    sendJson(response, {
      files: [
        { stored: null, is_same: false, replaces: false, address: "/_media/a.jpg?token" },
        { stored: FILE, is_same: true, replaces: false, address: null },
      ],
    });
  };
});
afterAll(async () => {
  await setup[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const REQUESTS = {
  mediaList: { query: { name: "pictures", deep: "1" } },
  mediaUsage: { query: {} },
  mediaRead: { body: { names: ["a.jpg"] } },
  mediaWrite: { body: { files: [{ name: "a.jpg", bytes: 3, sha256: HASH }] } },
  mediaRemove: { body: { names: ["a.jpg"], folder: "pictures" } },
  mediaPrune: { body: {} },
} as const;
const ROUTES = Object.keys(REQUESTS) as (keyof typeof REQUESTS)[];

const ask = (name: keyof typeof REQUESTS, as: Credential, params: object = {}) =>
  server.ask(name, { as, params: { org: setup.org.name, db: "main", ...params }, ...REQUESTS[name] } as never);

const keyWith = async (...grants: string[]): Promise<Credential> => {
  const name = `key-${Math.random().toString(36).slice(2, 10)}`;
  return { api_key: await makeKey(server, setup.org, setup.owner, { name, grants }) };
};

test("a member lists, reads, puts and removes files", async () => {
  for (const name of ROUTES) expect([name, (await ask(name, setup.member)).status]).toEqual([name, 200]);
  expect(setup.pod.asked.map(({ route }) => route)).toContain("GET /v1/media?name=pictures&deep=1&objects=0&limit=200");
});

test("addresses are those of the gateway", async () => {
  const address = "http://127.0.0.1:40123/_media/a.jpg?token";
  expect((await ask("mediaRead", setup.member)).json).toEqual({ files: [{ ...FILE, address }] });
  expect((await ask("mediaWrite", setup.member)).json).toEqual({
    files: [
      { stored: null, is_same: false, replaces: false, address },
      { stored: FILE, is_same: true, replaces: false, address: null },
    ],
  });
});

test("the audit log says who removed files", async () => {
  await ask("mediaRemove", setup.member);
  const { json } = await server.ask("eventList", { as: setup.owner, params: { org: setup.org.name } } as never);
  const removals = (json as { items: { action: string }[] }).items.filter(({ action }) => action === "media.remove");
  expect(removals[0]).toMatchObject({
    actor: setup.member.email,
    target: `cloud://${setup.org.name}:main`,
    detail: { files: 2, folder: "pictures" },
  });
});

test("the audit log says who replaces files, with all names, and nothing of new ones", async () => {
  const replacements = async () => {
    const { json } = await server.ask("eventList", { as: setup.owner, params: { org: setup.org.name } } as never);
    return (json as { items: { action: string }[] }).items.filter(({ action }) => action === "media.replace");
  };
  const before = (await replacements()).length;
  await ask("mediaWrite", setup.member);
  expect(await replacements()).toHaveLength(before);
  const names = Array.from({ length: MAX_ADDRESSES }, (_, at) => `${at}.jpg`);
  const body = { files: names.map((name) => ({ name, bytes: 3 })) };
  const params = { org: setup.org.name, db: "main" };
  replaced = names.length;
  try {
    await server.ask("mediaWrite", { as: setup.member, params, body } as never);
  } finally {
    replaced = 0;
  }
  const after = await replacements();
  expect(after).toHaveLength(before + 1);
  expect(after[0]).toMatchObject({
    actor: setup.member.email,
    target: `cloud://${setup.org.name}:main`,
    detail: { files: MAX_ADDRESSES, names },
  });
});

test("the audit log says who freed unused objects, and nothing of a dry run", async () => {
  const prunes = async () => {
    const { json } = await server.ask("eventList", { as: setup.owner, params: { org: setup.org.name } } as never);
    return (json as { items: { action: string }[] }).items.filter(({ action }) => action === "media.prune");
  };
  const before = (await prunes()).length;
  const params = { org: setup.org.name, db: "main" };
  await server.ask("mediaPrune", { as: setup.member, params, body: { dry_run: true } } as never);
  expect(await prunes()).toHaveLength(before);
  await ask("mediaPrune", setup.member);
  const after = await prunes();
  expect(after).toHaveLength(before + 1);
  expect(after[0]).toMatchObject({ actor: setup.member.email, detail: { objects: 2, bytes: 6 } });
});

test("a key with access to the whole database may use its media store", async () => {
  const key = await keyWith(`access:cloud://${setup.org.name}:main`);
  for (const name of ROUTES) expect([name, (await ask(name, key)).status]).toEqual([name, 200]);
  // and nothing else of the control plane
  const other = await server.ask("tableList", { as: key, params: { org: setup.org.name, db: "main" } } as never);
  expect(other.status).toBe(404);
});

test("no other grant opens the media store", async () => {
  const { name: org } = setup.org;
  const grants = [
    `access:cloud://${org}:other`,
    `access:cloud://${org}:main/services`,
    `access:cloud://${org}:main/services/ingest`,
    `manage:cloud://${org}:main/services`,
  ];
  for (const grant of grants) {
    const key = await keyWith(grant);
    const before = setup.pod.asked.length;
    for (const name of ROUTES) {
      const answer = await ask(name, key);
      expect([grant, name, answer.status, answer.json]).toEqual([
        grant,
        name,
        403,
        expect.objectContaining({ code: "forbidden" }),
      ]);
    }
    expect(setup.pod.asked).toHaveLength(before);
  }
});

test("another organization's store is not found, whether it exists or not", async () => {
  const granted = await keyWith(`access:cloud://${setup.org.name}:main`);
  const details = new Set<string>();
  for (const name of ROUTES) {
    const foreign = await ask(name, setup.outsider);
    expect([foreign.status, foreign.json]).toEqual([404, expect.objectContaining({ code: "organization_not_found" })]);
    details.add(
      JSON.stringify(foreign.json)
        .replace(setup.org.name, "ORG")
        .replace(/"instance":"[^"]*"/, ""),
    );
    const missing = await ask(name, setup.outsider, { org: "no-such-org" });
    details.add(
      JSON.stringify(missing.json)
        .replace("no-such-org", "ORG")
        .replace(/"instance":"[^"]*"/, ""),
    );
    expect((await ask(name, granted, { org: setup.other_org.name })).status).toBe(404);
    expect((await ask(name, {})).status).toBe(401);
  }
  expect(details.size).toBe(1);
});

test("too many files, and too long a time, are refused", async () => {
  const params = { org: setup.org.name, db: "main" };
  const names = Array.from({ length: 101 }, (_, at) => `${at}.jpg`);
  expect((await server.ask("mediaRead", { as: setup.member, params, body: { names } } as never)).status).toBe(422);
  const long = { names: ["a.jpg"], expires_s: 14_401 };
  expect((await server.ask("mediaRead", { as: setup.member, params, body: long } as never)).status).toBe(422);
});
