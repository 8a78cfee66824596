import { readdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { useSandbox } from "@appdb/testkit/sandbox";
import { expect, test } from "vitest";
import { signInCommand, startHosted } from "./support/hosted.ts";
import { openPost, type Post } from "./support/post-office.ts";
import { expectExit, makeProject } from "./support/served.ts";

/** Functions read a file by its path and make one. `spy` says what it sees of its database's media. */
const APP = `import os
import uuid
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()
SCRATCH = os.environ.get("APPDB_SCRATCH", "")


def attempt(work):
    try:
        return str(work())
    except OSError as error:
        return type(error).__name__


@db.udf
def loud(document: db.Document) -> db.Document:
    path = os.path.join(SCRATCH, f"{uuid.uuid4()}.txt")
    with open(document) as given, open(path, "w") as made:
        made.write(given.read().upper())
    return path


@db.udf
def spy(document: db.Document) -> str:
    media = os.path.dirname(os.path.dirname(SCRATCH))
    found = attempt(lambda: sorted(os.listdir(media)))
    return " ".join([found, attempt(lambda: open(document, "a")), attempt(lambda: os.link(document, SCRATCH + "/link"))])


@db.udf
def leak(target: str) -> db.Document:
    path = os.path.join(SCRATCH, f"{uuid.uuid4()}.txt")
    os.symlink(target, path)
    os.path.isfile = lambda path: True
    return path


class Letter(Base, name="letters"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.Document
    loud = db.Column(value=loud(text))
    spied = db.Column(value=spy(text))


class Leak(Base, name="leaks"):
    id = db.Column(value=uuid7(), primary_key=True)
    target: db.String
    leaked = db.Column(value=leak(target))


@db.query
def text_of(id: uuid.UUID):
    return Letter.where(Letter.id == id).select(Letter.text)


post = Router(name="post")
post.add_insert_route(Letter, path="/letters", uploadfile_inputs=[Letter.text])
post.add_insert_route(Leak, path="/leaks")
post.add_query_route(path="/text", query=text_of, method="get", one_row=True, return_fileresponse=True)
post.add_compute_route(Letter, path="/spied", inputs=[], uploadfile_inputs=[Letter.text], outputs=[Letter.spied])
`;
const READY_MS = 60_000;

// no driver is configured: a machine that supports sandboxes uses them
if ((await useSandbox()) !== undefined) {
  test("two organizations upload and read files, each only its own", { timeout: 300_000 }, async () => {
    await using project = await makeProject(APP, { env: { SERVICE_PODS: "" } });
    const hosted = await startHosted(project);
    await hosted.setUp("ann@example.com");
    await signInCommand(project, hosted);
    const [acme, other] = [await openPost(project, hosted.url, "acme"), await openPost(project, hosted.url, "other")];

    const sent = await acme.upload("/letters", "for acme\n");
    expect(sent).toMatchObject({ status: 200 });
    const { id, loud, spied, text } = sent.json;
    expect(text.startsWith(`${acme.url}/_media/`)).toBe(true);
    expect([await textAt(text), await textAt(loud)]).toEqual([
      [200, "for acme\n"],
      [200, "FOR ACME\n"],
    ]);
    expect(spied).toBe("['cache', 'home', 'scratch'] PermissionError OSError");
    const range = await fetch(text, { headers: { range: "bytes=4-7" } });
    expect([range.status, await range.text()]).toEqual([206, "acme"]);
    const file = await fetch(`${acme.url}/text?id=${id}`, { headers: { "x-api-key": acme.key } });
    expect([file.headers.get("content-type"), await file.text()]).toEqual(["text/plain; charset=utf-8", "for acme\n"]);
    expect((await fetch(`${acme.url}/text?id=${id}`)).status).toBe(401);
    expect((await acme.upload("/spied", "kept nowhere\n")).json.spied).toMatch(/^\['cache', 'home', 'scratch'\]/);

    const stored = await acme.rows("letters");
    expect(stored.json.rows[0]).toMatchObject({
      id,
      text: { address: expect.stringContaining("/databases/main/file?token="), type: "text/plain", bytes: 9 },
    });

    expect(await textAt(text.replace(acme.url, other.url))).toEqual([403, expect.stringContaining("media_address")]);
    expect((await textAt(text.replace(/_media\/./, "_media/~")))[0]).toBe(403);
    const leaked = await acme.insert("/leaks", {
      target: join(project.home, "server", "databases", acme.id, "log", "pod.log"),
    });
    expect(leaked).toMatchObject({ status: 400, json: { detail: expect.stringContaining("not a regular file") } });
    expect((await other.upload("/letters", "for other\n")).json.loud).toContain(`${other.url}/_media/`);

    const home = "mediafs://acme:main/home/letters";
    writeFileSync(join(project.folder, "letter.txt"), "a named letter\n");
    await expectExit(project, 0, "media", "cp", "letter.txt", `${home}/`);
    const named = await acme.insert("/letters", { text: `${home}/letter.txt` });
    expect(await textAt(named.json.loud)).toEqual([200, "A NAMED LETTER\n"]);
    expect((await other.insert("/letters", { text: `${home}/letter.txt` })).status).toBe(422);
    const grant = ["--grant", `access:${acme.uri}/services/post`];
    const limited = await expectExit(project, 0, "key", "create", "limited", "--org", "acme", ...grant, "--json");
    const headers = { "x-api-key": JSON.parse(limited.stdout).api_key, "content-type": "application/json" };
    const spiedBy = async (text: string) => {
      const answer = await fetch(`${acme.url}/spied`, { method: "POST", headers, body: JSON.stringify({ text }) });
      return [answer.status, ((await answer.json()) as { code?: string }).code];
    };
    await eventually(async () => expect(await spiedBy(named.json.text)).toEqual([200, undefined]));
    expect(await spiedBy(`${home}/letter.txt`)).toEqual([403, "forbidden"]);
    expect(await spiedBy(`${home}/none.txt`)).toEqual([403, "forbidden"]);
    await expectExit(project, 0, "media", "rm", `${home}/letter.txt`);
    expect(await textAt(named.json.text)).toEqual([200, "a named letter\n"]);

    await cutUpload(acme);
    await eventually(() => expect(filesIn(acme.folder, "uploads")).toEqual([]));
    expect([filesIn(acme.folder, "scratch"), filesIn(acme.folder, "cache")]).toEqual([[], []]);
    await expectExit(project, 0, "db", "stop", acme.uri);
    expect((await textAt(text))[0]).toBe(503);
    await expectExit(project, 0, "db", "start", acme.uri);
    await eventually(async () => expect(await textAt(text)).toEqual([200, "for acme\n"]), { timeout_ms: READY_MS });
  });
}

async function textAt(address: string): Promise<[number, string]> {
  const answer = await fetch(address);
  return [answer.status, await answer.text()];
}

/** Sends a part of an upload until it is on the disk, and disconnects. */
async function cutUpload({ folder, key, url }: Post): Promise<void> {
  const { hostname, pathname, port } = new URL(`${url}/letters`);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${key}\r\ncontent-length: 50000000\r\n` +
      'content-type: multipart/form-data; boundary=b\r\n\r\n--b\r\ncontent-disposition: form-data; name="text"; filename="a.txt"\r\n\r\n',
  );
  socket.write(Buffer.alloc(1_000_000, "a"));
  await eventually(() => expect(filesIn(folder, "uploads").some((bytes) => bytes > 500_000)).toBe(true));
  socket.destroy();
}

/** Sizes of the files in a folder of the media. */
function filesIn(folder: string, part: string): number[] {
  const path = join(folder, part);
  return readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0) : [],
  );
}
