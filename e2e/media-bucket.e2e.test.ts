import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesContent } from "@appdb/media/stores/content";
import { isCloud, parseStoreAddress } from "@appdb/media/stores/media-address";
import type { MediaStore } from "@appdb/media/stores/media-store";
import { openStore } from "@appdb/media/stores/open-store";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { eventually } from "@appdb/testkit/eventually";
import { type ObjectStore, startableStores, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Browsed, type Hosted, isAvailable, startServer, startWithAcme } from "./support/hosted.ts";
import { expectExit, makeProject } from "./support/served.ts";

/** Functions read a file by its path and make one. `seen` is what they find in their environment. */
const APP = `import os
import uuid
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def loud(document: db.Document) -> db.Document:
    path = os.path.join(os.environ["APPDB_SCRATCH"], f"{uuid.uuid4()}.txt")
    with open(document) as given, open(path, "w") as made:
        made.write(given.read().upper())
    return path


@db.udf
def seen(document: db.Document) -> str:
    names = sorted(name for name in os.environ if name.startswith(("AWS", "GOOGLE", "STORAGE")) or "MEDIA" in name)
    sockets = sorted(name for name in os.listdir("/tmp") if os.path.exists(f"/tmp/{name}/objects.sock"))
    return f"{names} {sockets}"


class Letter(Base, name="letters"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.Document
    loud = db.Column(value=loud(text))
    seen = db.Column(value=seen(text))


@db.query
def text_of(id: uuid.UUID):
    return Letter.where(Letter.id == id).select(Letter.text)


post = Router(name="post")
post.add_insert_route(Letter, path="/letters", uploadfile_inputs=[Letter.text])
post.add_query_route(path="/text", query=text_of, method="get", one_row=True, return_fileresponse=True)
`;
const SERVER = join(ROOT, "dist", "server.js");
const URI = "cloud://acme:main";
const HOME = "mediafs://acme:main/home";
const TOKEN = "token-of-the-metrics-of-this-server";
/** Sizes are measured twice a minute, and shown after the next look. */
const READY = { timeout_ms: 120_000 };
const TIMEOUT = 240_000;

/** Any cloud shows it: pods do not know which one it is. */
const CLOUD = startableStores()[0] ?? "s3";

describe.skipIf(whyNoStore(CLOUD) !== undefined)("a server with a bucket", () => {
  let project: TestProject;
  let hosted: Hosted;
  let bucket: ObjectStore;
  let objects: MediaStore;
  let service: { readonly url: string; readonly key: string; readonly id: string };

  beforeAll(async () => {
    bucket = await startObjectStore(CLOUD);
    const place = parseStoreAddress(`${bucket.address}/files`);
    if (!isCloud(place)) throw new Error("The bucket is another one.");
    objects = await openStore(place, bucket);
    // no driver is configured: a machine that supports sandboxes uses them
    project = await makeProject(APP, { env: { SERVICE_PODS: "", SERVICE_METRICS_TOKEN: TOKEN } });
    hosted = await startWithAcme(project);
    await expectExit(project, 0, "deploy", "app.py", URI, "-f");
    const { id } = await json("db", "status", URI);
    const { services } = await json("service", "list", URI);
    const { api_key: key } = await json("key", "create", "caller", "--org", "acme");
    service = { url: services[0].endpoint, key, id };
  }, TIMEOUT);
  afterAll(async () => {
    await project[Symbol.asyncDispose]();
    await bucket[Symbol.asyncDispose]();
  }, TIMEOUT);

  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
  const upload = async (text: string): Promise<Browsed> => {
    const form = new FormData();
    form.append("text", new File([text], "letter.txt"));
    const headers = { "x-api-key": service.key };
    const answer = await fetch(`${service.url}/letters`, { method: "POST", body: form, headers });
    return { status: answer.status, json: await answer.json() };
  };
  const textAt = async (address: string) => {
    const answer = await fetch(address);
    return [answer.status, await answer.text()];
  };
  const keys = async () => (await objects.list()).objects.map(({ key }) => key);
  const onDisk = () =>
    readdirSync(join(project.home, "server", "media", service.id, "home"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  const health = async (): Promise<{ status: string; problems: { code: string; what: string }[] }> => {
    const url = `${hosted.url}/health`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
    return JSON.parse(await answer.text());
  };
  const restart = async (env: Readonly<Record<string, string>>) => {
    await hosted.server.interrupt("SIGTERM");
    Object.assign(project.env, env);
    hosted = { ...hosted, ...(await startServer(project)) };
    await isAvailable(project, URI);
  };

  test("files on the disk stay, new ones are in the bucket, and neither code nor pods have its credentials", {
    timeout: TIMEOUT,
  }, async () => {
    const before = (await upload("before\n")).json;
    expect(await textAt(before.text)).toEqual([200, "before\n"]);
    const stored = onDisk();
    expect(stored).toHaveLength(2);
    await restart({ ...bucket.environment, SERVICE_MEDIA_URL: `${bucket.address}/files` });

    await eventually(async () => expect(await textAt(before.text)).toEqual([200, "before\n"]), READY);
    await eventually(async () => expect((await upload("after\n")).status).toBe(200), READY);
    const after = (await upload("after\n")).json;
    expect([await textAt(after.text), await textAt(after.loud)]).toEqual([
      [200, "after\n"],
      [200, "AFTER\n"],
    ]);
    expect(after.seen).toBe("[] []");
    expect(onDisk()).toEqual(stored);
    const [organization] = (await keys())[0]?.split("/") ?? [];
    expect((await keys()).every((key) => key.startsWith(`${organization}/${service.id}/`))).toBe(true);
    expect(await keys()).toHaveLength(2);

    const range = await fetch(after.text, { headers: { range: "bytes=1-3" } });
    expect([range.status, await range.text()]).toEqual([206, "fte"]);
    const headers = { "x-api-key": service.key };
    const file = await fetch(`${service.url}/text?id=${after.id}`, { headers });
    expect([file.headers.get("content-type"), await file.text()]).toEqual(["text/plain; charset=utf-8", "after\n"]);
    for (const environment of podEnvironments()) {
      expect(environment).not.toMatch(/AWS_|GOOGLE_|STORAGE_/);
      expect(environment).not.toContain("SERVICE_MEDIA_URL");
    }
    expect((await health()).problems).not.toContainEqual(expect.objectContaining({ code: "media_bucket_failed" }));
  });

  test("names, copies and sizes are those of the bucket", { timeout: TIMEOUT }, async () => {
    writeFileSync(join(project.folder, "letter.txt"), "a named letter\n");
    writeFileSync(join(project.folder, "large.bin"), Buffer.alloc(40_000_000, 7));
    for (const name of ["letter.txt", "large.bin"]) {
      await expectExit(project, 0, "media", "cp", name, `${HOME}/named/`);
    }
    await expectExit(project, 0, "media", "cp", `${HOME}/named/large.bin`, "back.bin");
    expect(readFileSync(join(project.folder, "back.bin")).equals(Buffer.alloc(40_000_000, 7))).toBe(true);
    expect(await json("media", "cp", "large.bin", `${HOME}/named/`)).toMatchObject({ copied: 0, skipped: 1 });
    expect(await json("media", "du", HOME)).toMatchObject({ files: 2, stored: { objects: 6 } });
    expect((await keys()).length).toBe(4);
    expect(onDisk()).toHaveLength(2);
    await eventually(async () => {
      const { stdout } = await expectExit(project, 0, "db", "status", URI);
      expect(stdout).toMatch(/media +.*38\.\d MiB in 6 media files, in the bucket of the server/);
    }, READY);
    await expectExit(project, 0, "media", "rm", `${HOME}/named/letter.txt`);
  });

  test("another bucket, or none, is refused at the start while files are in this one", {
    timeout: TIMEOUT,
  }, async () => {
    const database = join(project.home, "server", "databases", service.id);
    const sockets = nameRuntimeFolder(join(database, "objects"), process.env.XDG_RUNTIME_DIR);
    expect(existsSync(sockets)).toBe(true);
    await hosted.server.interrupt("SIGTERM");
    expect(existsSync(sockets), "the folder of the socket outside of the home").toBe(false);
    for (const address of ["", "s3://another-bucket"]) {
      const refused = await project.type(`SERVICE_MEDIA_URL=${address} node '${SERVER}'`);
      expect([refused.code, refused.stdout + refused.stderr]).toEqual([
        1,
        expect.stringContaining("SERVICE_MEDIA_URL"),
      ]);
    }
    await restart({});
  });

  test("a bucket that is gone is a problem in /health, and files on the disk and rows stay readable", {
    timeout: TIMEOUT,
  }, async () => {
    await objects.put("last", bytesContent(Buffer.from("x")), { content_type: "text/plain" });
    await bucket[Symbol.asyncDispose]();
    const refused = await upload("refused\n");
    expect([refused.status, refused.json.code]).toEqual([503, "media_unavailable"]);
    expect(JSON.stringify(refused.json)).toContain(HOME);
    expect(JSON.stringify(refused.json)).not.toContain(bucket.address);
    const problem = await eventually(async () => {
      const { problems, status } = await health();
      expect(status).toBe("degraded");
      return problems.find(({ code }) => code === "media_bucket_failed");
    }, READY);
    expect(problem?.what).toContain("SERVICE_MEDIA_URL does not answer");
    for (const value of Object.values(bucket.environment)) expect(JSON.stringify(problem)).not.toContain(value);
    await restart({});
    const rows = `${hosted.url}/v1/orgs/acme/databases/main/tables/letters/rows`;
    const answer = await fetch(rows, { headers: { "x-api-key": service.key } });
    expect(answer.status).toBe(200);
    for (const secret of secretsOf(bucket)) expect(hosted.server.output()).not.toContain(secret);
  });

  /** The environments of the processes of pods. */
  function podEnvironments(): string[] {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const found = pids.filter((pid) => readProc(pid, "cmdline").includes("pod.js"));
    const own = found.filter((pid) => /\0(?:database|service-pod)\0/.test(readProc(pid, "cmdline")));
    expect(own.length).toBeGreaterThan(1);
    return own.map((pid) => readProc(pid, "environ"));
  }
});

/** What gives access: the server's log may have the address of the bucket. */
function secretsOf({ environment }: ObjectStore): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    /SECRET|CREDENTIALS|CONNECTION/.test(name) ? [value] : [],
  );
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(join("/proc", pid, file), "latin1");
  } catch {
    // it has ended
    return "";
  }
}
