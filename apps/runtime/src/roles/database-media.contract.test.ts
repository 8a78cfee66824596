import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import { openLink } from "@appdb/pods/link/open-link";
import { Secret } from "@appdb/system/secret";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestPods, type StartedPod, type TestPods } from "../testing/test-pods.ts";

const TIMEOUT = 180_000;
const BYTES = 30_000_000;

const APP = `
import appdb as db

Base = db.model_base()


class Papers(Base, name="papers"):
    title = db.Column(type=db.String, primary_key=True)
    text: db.Document
`;

let pods: TestPods;
let pod: StartedPod;
let spec: DatabasePodSpec;

beforeAll(async () => {
  pods = openTestPods();
  spec = await pods.spec({ media_gb: 1 });
  const uploads = join(spec.media.folder, "uploads");
  mkdirSync(uploads, { recursive: true });
  writeFileSync(join(uploads, "0123.part"), "of a killed pod");
  pod = pods.start(spec);
  await pod.ready();
}, TIMEOUT);
afterAll(async () => {
  await pods[Symbol.asyncDispose]();
});

/** A request as the gateway sends it. */
async function send(method: string, address: string, body?: AsyncIterable<Uint8Array>) {
  const memory = { take: () => true, add: () => undefined, give: () => undefined };
  using link = await openLink({
    connect: () => connect(join(spec.run_folder, "link.sock")),
    token: new Secret(spec.link_token),
    log: createSilentLog(),
    memory,
  });
  const [path = "", search = ""] = address.slice("/_media".length).split("?");
  const call = link.start({
    method,
    path,
    search,
    headers: {},
    body: body === undefined ? Buffer.alloc(0) : undefined,
    id: "r1",
    caller: null,
    host: "",
    client_address: "",
    is_secure: false,
  });
  // the test sees it below, also when it comes while the body is being sent
  call.answer.catch(() => undefined);
  if (body !== undefined) {
    for await (const piece of body) {
      await new Promise((resolve) => call.body?.write(piece, resolve));
    }
    call.body?.end();
  }
  const answer = await call.answer;
  const pieces: Uint8Array[] = [];
  if (Buffer.isBuffer(answer.body)) pieces.push(answer.body);
  else for await (const piece of answer.body) pieces.push(piece);
  return { status: answer.status, body: Buffer.concat(pieces) };
}

async function* generated(bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += 65_536) yield Buffer.alloc(Math.min(65_536, bytes - at), at % 251);
}

async function put(name: string, content: AsyncIterable<Uint8Array>, bytes: number): Promise<number> {
  const answer = await pod.ask("POST", "/v1/media/write", { files: [{ name, bytes }] });
  const { files } = answer.json<{ files: { address: string }[] }>();
  return (await send("PUT", files[0]?.address ?? "", content)).status;
}

async function* text(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

test("files are put before the first table, listed, read and removed, and count to the disk", {
  timeout: TIMEOUT,
}, async () => {
  expect(await put("films/long.bin", generated(BYTES), BYTES)).toBe(201);
  const list = (await pod.ask("GET", "/v1/media?name=films")).json<{ items: object[] }>();
  expect(list.items).toMatchObject([{ name: "films/long.bin", bytes: BYTES, files: 1, is_folder: false }]);
  const { files } = (await pod.ask("POST", "/v1/media/read", { names: ["films/long.bin"] })).json<{
    files: { address: string; sha256: string }[];
  }>();
  const read = await send("GET", files[0]?.address ?? "");
  expect([read.status, createHash("sha256").update(read.body).digest("hex")]).toEqual([200, files[0]?.sha256]);
  const usage = (await pod.ask("GET", "/v1/media/usage")).json();
  expect(usage).toMatchObject({
    files: 1,
    bytes: BYTES,
    entries: [{ name: "films", is_folder: true }],
    stored: { objects: 1 },
  });
  expect(partsIn(join(spec.media.folder, "uploads"))).toEqual([]);
  const full = await pod.ask("POST", "/v1/media/write", { files: [{ name: "x", bytes: 10 ** 12 }] });
  expect([full.status, full.json().code]).toEqual([507, "media_store_full"]);
  expect(full.json().detail).toMatch(/room for 1043741824: 0\.03 GB are used by 1 file, and media_gb is 1\.$/);
  expect(usage).toMatchObject({ stored: { bytes: BYTES }, room_bytes: 1024 ** 3 - BYTES, room_of: "media_gb" });
  expect((await pod.ask("POST", "/v1/media/remove", { names: ["films/long.bin"] })).json()).toEqual({
    removed: 1,
    missing: [],
  });
  expect((await send("GET", "/_media/a?forged")).status).toBe(403);
});

test("a row takes a file of the store by its address, and keeps the content", { timeout: TIMEOUT }, async () => {
  const files = pods.putTree({ "app.py": APP });
  const question = { app_file: "app.py", files, folders: [] };
  const { plan } = (await pod.ask("POST", "/v1/schema/plan", question)).json<{ plan: { catalog_version: number } }>();
  const { catalog_version } = plan;
  const applied = await pod.ask("POST", "/v1/schema/apply", { ...question, catalog_version, allow_destructive: false });
  expect(applied.lines().at(-1)).toMatchObject({ event: "done" });
  const home = "mediafs://main/home".replace("main", spec.media.folder.split("/").at(-1) ?? "");
  expect(await put("notes/Erste Notiz.md", text("# One"), 5)).toBe(201);

  const insert = (title: string, address: string) =>
    pod.ask("POST", "/v1/tables/papers/rows", { title, text: address });
  const named = await insert("a", `${home}/notes/Erste Notiz.md`);
  expect([named.status, named.json()]).toEqual([200, { title: "a", text: expect.stringContaining("/file?token=") }]);
  const content = async (address: string) => (await pod.ask("GET", address.replace(/^.*[/]file/, "/v1/file"))).text;
  const { key } = (await pod.ask("POST", "/v1/media/read", { names: ["notes/Erste Notiz.md"] })).json<{
    files: { key: string }[];
  }>().files[0] ?? { key: "" };
  expect(await content(named.json<{ text: string }>().text)).toBe("# One");
  const lines = [1, 2].map((n) => `${JSON.stringify({ title: `line ${n}`, text: `${home}/${key}` })}\n`).join("");
  const many = await pod.ask("POST", "/v1/tables/papers/rows", lines, { "content-type": "application/x-ndjson" });
  expect(many.status).toBe(200);
  for (const line of many.text.trimEnd().split("\n")) {
    expect(await content((JSON.parse(line) as { text: string }).text)).toBe("# One");
  }

  const missing = await insert("b", `${home}/none.md`);
  expect([missing.status, missing.json()]).toEqual([
    422,
    expect.objectContaining({
      code: "invalid_request",
      detail: `text: ${home}/none.md does not exist.`,
      hint: `List the files of the store: cli media ls -r ${home}`,
    }),
  ]);
  const foreign = await insert("b", "mediafs://acme:other/home/a.md");
  expect([foreign.status, foreign.json().detail]).toEqual([
    422,
    expect.stringContaining("not in a store that this database"),
  ]);
  const bad = await pod.ask(
    "POST",
    "/v1/tables/papers/rows",
    `${lines.split("\n")[0]}\n${JSON.stringify({ title: "c", text: `${home}/none.md` })}\n`,
    { "content-type": "application/x-ndjson" },
  );
  expect([bad.status, bad.json().detail]).toEqual([422, expect.stringContaining("Line 2: text:")]);

  const kept = await pod.ask("POST", "/v1/media/remove", { names: [key] });
  expect([kept.status, kept.json()]).toEqual([
    409,
    expect.objectContaining({ code: "media_in_use", detail: expect.stringContaining(key) }),
  ]);
  expect((await pod.ask("POST", "/v1/media/remove", { names: ["notes/Erste Notiz.md"] })).json()).toMatchObject({
    removed: 1,
  });
  const rows = (await pod.ask("GET", "/v1/tables/papers/rows")).json<{ rows: { text: object }[] }>().rows;
  expect(rows).toHaveLength(3);
  for (const row of rows) expect(row.text).toMatchObject({ address: expect.stringContaining("/file?token=") });
  const inRow = await pod.ask("POST", "/v1/media/remove", { names: [key] });
  expect(inRow.json().detail).toContain("a row of papers refers to it in text");
});

test("a pod that is killed during a put leaves no file, and the put works again", { timeout: TIMEOUT }, async () => {
  const answer = await pod.ask("POST", "/v1/media/write", { files: [{ name: "cut.bin", bytes: BYTES }] });
  const { files } = answer.json<{ files: { address: string }[] }>();
  const address = files[0]?.address ?? "";
  let release = () => {};
  const killed = new Promise<void>((resolve) => {
    release = resolve;
  });
  const cut = send("PUT", address, half(killed));
  const outcome = cut.then(
    ({ status }) => status,
    () => "broken",
  );
  const uploads = join(spec.media.folder, "uploads");
  await eventually(() => expect(partsIn(uploads)).toHaveLength(1));
  const objects = (await pod.ask("GET", "/v1/media/usage")).json<{ stored: object }>().stored;
  pod.child.kill("SIGKILL");
  await pod.ended();
  release();
  expect(await outcome).toBe("broken");
  pod = pods.start(spec);
  await pod.ready();
  expect((await pod.ask("GET", "/v1/media/usage?name=cut.bin")).json()).toMatchObject({ files: 0, stored: objects });
  expect(partsIn(uploads)).toEqual([]);
  expect((await send("PUT", address, generated(BYTES))).status).toBe(201);
});

/** A body of which a half is sent, and nothing more. */
async function* half(ended: Promise<void>): AsyncGenerator<Uint8Array> {
  yield* generated(BYTES / 100);
  await ended;
}

/** Files that are being received. */
function partsIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => name.endsWith(".part"));
}
