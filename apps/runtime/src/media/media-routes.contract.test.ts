import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, type MediaService, startMediaService } from "../testing/media-service.ts";

let service: MediaService;
const formOf: MediaService["formOf"] = (...given) => service.formOf(...given);
const send: MediaService["send"] = (...given) => service.send(...given);

beforeAll(async () => {
  service = await startMediaService({
    database: await createTestDatabase(),
    runtimeIn: testRuntime,
    log: createSilentLog(),
  });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

describe("uploads", () => {
  test("a file is stored once, decoded once, and answered by an address that works", async () => {
    const { status, json } = await send("/photos", formOf({ picture: "whole.png" }, { title: "Ä", n: "7" }));
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { title: "Ä", n: 7, caption: "64x48 RGB", second: null, width: 320, tone: "RGB", tiny: 4 },
    });
    const picture = await fetch(String(json.picture));
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).equals(readFileSync(join(service.folder, "whole.png")))).toBe(true);
    const thumb = await fetch(String(json.thumb), { headers: { range: "bytes=0-1" } });
    expect([thumb.status, Buffer.from(await thumb.arrayBuffer()).toString("hex")]).toEqual([206, "ffd8"]);
    const [cell] = (await service.query("select picture from photos where title = 'Ä'"))[0] ?? [];
    expect(JSON.parse(cell ?? "")).toMatchObject({
      store: "home",
      type: "image/png",
      width: 320,
      height: 240,
      mode: "RGB",
      name: "whole.png",
    });
    const before = service.objects();
    await send("/photos", formOf({ picture: "whole.png" }));
    expect(service.objects()).toEqual(before);
  });

  test("images are seen as their camera was held", async () => {
    const { json } = await send("/try", formOf({ picture: "turned.jpg" }));
    expect(json).toEqual({ caption: "48x64 RGB" });
  });

  test("a compute route stores neither row nor upload", async () => {
    const rows = await service.query("select count(*) from photos");
    await send("/try", formOf({ picture: "other.jpg" }));
    expect(await service.query("select count(*) from photos")).toEqual(rows);
    expect(service.objects().filter((name) => name.endsWith(".jpg")).length).toBeGreaterThan(0);
    expect(service.leftovers()).toEqual([]);
  });

  test("a request with an idempotency key is answered again with an address", async () => {
    const key = { "idempotency-key": "one" };
    const first = await send("/photos", formOf({ picture: "other.jpg" }, { title: "once" }), key);
    const second = await send("/photos", formOf({ picture: "other.jpg" }, { title: "once" }), key);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.json).toEqual(first.json);
    const other = await send("/photos", formOf({ picture: "whole.png" }, { title: "once" }), key);
    expect(other.json.code).toBe("idempotency_mismatch");
  });

  test("a computed file is stored at its column's destination", async () => {
    const before = service.objects();
    const { json } = await send("/kept", formOf({ picture: "other.jpg" }, { key: "a" }));
    const [cell] = (await service.query("select thumb from kept"))[0] ?? [];
    const { store, key } = JSON.parse(cell ?? "") as { store: string; key: string };
    expect(store).toBe(`file://${join(service.folder, "kept")}`);
    const stored = readFileSync(join(service.folder, "kept", key));
    const sent = await fetch(String(json.thumb));
    expect(Buffer.from(await sent.arrayBuffer()).equals(stored)).toBe(true);
    expect(service.objects().filter((name) => !before.includes(name))).not.toContain(basename(key));
  });

  test("a column that is a given file refers to it, wherever it is computed", async () => {
    const { json } = await send("/same", formOf({ picture: "whole.png", text: "a.md" }, { key: "a" }));
    expect([json.shown, json.read]).toEqual([json.picture, json.text]);
    const told = await send("/same/told", formOf({ picture: "whole.png", text: "a.md" }, { key: "b" }));
    expect(told.json).toEqual({ key: "b", shown: "(320, 240)", same: true, caption: "320x240 RGB" });
    const cells = "select picture = shown, text = read from same order by key";
    expect(await service.query(cells)).toEqual([
      ["t", "t"],
      ["t", "t"],
    ]);
  });

  test("an address in place of a file is downloaded, checked and kept as it is", async () => {
    const url = `http://127.0.0.1:${service.webPort}/whole.png`;
    const { status, json } = await send("/photos", { title: "by address", picture: url });
    expect({ status, json }).toMatchObject({ status: 200, json: { picture: url, caption: "64x48 RGB" } });
    const inForm = await send("/photos", formOf({}, { picture: url }));
    expect(inForm.json).toMatchObject({ picture: url });
  });

  test("rows as lines are answered whole, each with addresses that work", async () => {
    const picture = `http://127.0.0.1:${service.webPort}/whole.png`;
    const rows = ["one", "two", "three"].map((title) => `${JSON.stringify({ title, picture })}\n`);
    const headers = { "content-type": "application/x-ndjson" };
    const answer = await fetch(`${service.base}/photos`, { method: "POST", headers, body: rows.join("") });
    const lines = (await answer.text()).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as Json).title)).toEqual(["one", "two", "three"]);
    const { thumb } = JSON.parse(lines[2] ?? "") as Json;
    expect((await fetch(String(thumb), { method: "HEAD" })).status).toBe(200);
  });
});

describe("files of the store", () => {
  test("a file that is missing there is named without its path, on an update and in a query", async () => {
    writeFileSync(join(service.folder, "own.md"), "text to remove");
    const kept = await send("/lines", formOf({ text: "own.md" }, { key: "gone" }));
    expect(kept.status).toBe(200);
    const [cell] = (await service.query("select text from lines where key = 'gone'"))[0] ?? [];
    rmSync(join(service.mediaFolder, "home", (JSON.parse(cell ?? "") as { key: string }).key));
    const update = await send("/lines/update", { key: "gone", n: 2 });
    const read = await fetch(`${service.base}/lines/heads`);
    for (const answer of [update, { status: read.status, json: (await read.json()) as Json }]) {
      expect(answer).toMatchObject({ status: 404, json: { code: "media_not_found" } });
      expect(answer.json.detail).toContain('The file "own.md" is missing in its store.');
      expect(JSON.stringify(answer.json)).not.toContain(service.folder);
    }
  });

  test.each(["write", "remove"])("a function that does this to its input fails: %s", async (how) => {
    writeFileSync(join(service.folder, "own.md"), `text of ${how}`);
    const spoiled = await send("/spoiled", formOf({ text: "own.md" }, { how }));
    expect({ status: spoiled.status, json: spoiled.json }).toMatchObject({
      status: 400,
      json: { code: "function_failed", detail: expect.stringContaining("changed or removed its input file") },
    });
    expect(JSON.stringify(spoiled.json)).not.toContain(service.folder);
    const { json } = await send("/spoiled", formOf({ text: "own.md" }, { how: `not ${how}` }));
    expect(await (await fetch(String(json.text))).text()).toBe(`text of ${how}`);
  });
});

describe("bad input", () => {
  test.each([
    ["a file that was cut", { picture: "cut.jpg" }, {}, "media_invalid"],
    ["a page with the name of an image", { picture: "page.png" }, {}, "media_invalid"],
    ["an empty file", { picture: "empty.png" }, {}, "media_invalid"],
    ["no file at all", {}, { title: "x" }, "invalid_request"],
    ["a file for a field that takes none", { picture: "whole.png", title: "whole.png" }, {}, "invalid_request"],
    ["a number that is none", { picture: "whole.png" }, { n: "seven" }, "invalid_request"],
    ["an unknown field", { picture: "whole.png" }, { titel: "x" }, "invalid_request"],
    ["an address that does not exist", {}, { picture: "http://127.0.0.1:1/x.png" }, "media_unreachable"],
    ["a file of the server", {}, { picture: "file:///etc/passwd" }, "invalid_request"],
    ["a path of the server", {}, { picture: "/etc/passwd" }, "invalid_request"],
    ["a file of another's store", {}, { picture: "s3://other/a.png" }, "media_source_not_allowed"],
    ["an address that is not of a store", {}, { picture: "wasbs://x/y.png" }, "invalid_request"],
  ])("%s is refused and nothing is stored", async (_what, files, fields, code) => {
    const rows = await service.query("select count(*) from photos");
    const { status, json } = await send("/photos", formOf(files, fields));
    expect(json).toMatchObject({ code });
    if (code === "media_invalid") expect(json.errors).toMatchObject([{ pointer: "/picture" }]);
    expect(json.hint).not.toContain("on_read");
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(json)).not.toContain(service.mediaFolder);
    expect(await service.query("select count(*) from photos")).toEqual(rows);
    expect(service.leftovers()).toEqual([]);
  });

  test("a row whose store the database no longer reads gives no file", async () => {
    const { json } = await send("/files", { key: "bucket", text: "s3://other/a.md" });
    expect(json).toMatchObject({
      code: "media_source_not_allowed",
      hint: expect.stringContaining("SERVICE_MEDIA_SOURCES"),
    });
    await send("/same", formOf({ picture: "whole.png" }, { key: "bucket" }));
    await service.query(`update same set text = '{"url":"s3://other/a.md"}' where key = 'bucket'`);
    const { rows } = (await (await fetch(`${service.base}/texts`)).json()) as { rows: Json[] };
    const answer = await fetch(String(rows[0]?.text));
    expect([answer.status, ((await answer.json()) as Json).code]).toEqual([422, "media_source_not_allowed"]);
  });

  test("two files for one field are refused", async () => {
    const form = formOf({ picture: "whole.png" });
    form.append("picture", new Blob([readFileSync(join(service.folder, "other.jpg"))]), "other.jpg");
    expect((await send("/photos", form)).json).toMatchObject({
      code: "invalid_request",
      detail: expect.stringContaining("picture"),
    });
  });

  test("files above the limit are refused", async () => {
    const form = new FormData();
    form.append("picture", new Blob([Buffer.alloc(1_000_001)]), "large.png");
    expect(await send("/photos", form)).toMatchObject({ status: 413, json: { code: "media_too_large" } });
  });

  test("a broken file of a column with media_validation='on_read' fails its own cells", async () => {
    const { status, json, headers } = await send("/loose", formOf({ picture: "cut.jpg" }, { key: "a" }));
    expect({ status, json }).toMatchObject({ status: 200, json: { key: "a", caption: null } });
    expect(headers.get("x-cell-errors") ?? headers.get("cell-errors")).toContain("caption");
  });

  test("what is not known of a file before it is read is computed in Python", async () => {
    const { json } = await send("/loose", formOf({ picture: "whole.png" }, { key: "b" }));
    expect(json).toMatchObject({ key: "b", caption: "320x240 RGB", width: 320 });
  });

  test("a store that fails is reported by its own code, and nothing is stored", async () => {
    const { status, json } = await send("/lost", formOf({ picture: "whole.png" }, { key: "a" }));
    expect({ status, json }).toMatchObject({
      status: 502,
      json: {
        code: "media_store_not_found",
        detail: "Column lost.thumb: The store file:///no/such/store does not exist: ENOENT.",
        hint: expect.stringContaining("Nothing was stored."),
      },
    });
    expect(await service.query("select count(*) from lost")).toEqual([["0"]]);
  });

  test.each([
    ["robin.jpg", "To send the file itself: curl -F picture=@robin.jpg"],
    [
      "\x89PNG\r\n\x1a\n\0\0",
      "The part has the content of a file, and no filename. Send a file: curl -F picture=@file",
    ],
    ["https://example.com/a b.png", "The address has a space. Write it as %20."],
    ["s4://bucket/a.png", "wasbs:// or mediafs://"],
  ])("the field of a file with the text %j says what to send", async (text, wanted) => {
    const { status, json } = await send("/photos", formOf({}, { picture: text }));
    expect(status).toBe(422);
    const [{ detail }] = json.errors as [{ detail: string }];
    expect(detail).toContain(wanted);
    expect(detail).not.toContain("PNG");
  });

  test("a form that is announced as JSON is named as one", async () => {
    const boundary = "----b";
    const body = `--${boundary}\r\nContent-Disposition: form-data; name="title"\r\n\r\n`;
    const headers = { "content-type": "application/json" };
    for (const end of ["a", "\xff"]) {
      const bytes = Buffer.from(body + end, "latin1");
      const answer = await fetch(`${service.base}/photos`, { method: "POST", headers, body: bytes });
      expect(await answer.json()).toMatchObject({
        code: "invalid_json",
        detail: "The body is a form, and its header content-type says JSON.",
      });
    }
  });

  test("an image of another size than its column's is refused", async () => {
    const { json } = await send("/lost", formOf({ picture: "turned.jpg" }, { key: "a" }));
    expect(json).toMatchObject({
      code: "media_invalid",
      detail: expect.stringContaining("the column holds images of size (None, 240), this one has (240, 320)"),
    });
  });

  test("a function cannot make the service read a file of its own", async () => {
    const { json } = await send("/strange", { title: "/etc/passwd" });
    expect(json.code).not.toBeUndefined();
    expect(JSON.stringify(json)).not.toContain("root:");
  });

  test.each(["x", "../../etc/passwd", "AAAA".repeat(20)])("the token %s leads to nothing", async (token) => {
    const answer = await fetch(`${service.base}/_media/${encodeURIComponent(token)}/a.png`);
    expect(((await answer.json()) as Json).code).toBe("media_address_invalid");
  });
});

describe("file responses", () => {
  test("a query answers with the file of its row", async () => {
    const { json } = await send("/photos", formOf({ picture: "whole.png" }, { title: "file" }));
    const answer = await fetch(`${service.base}/photos/${String(json.id)}/thumb`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
    const etag = answer.headers.get("etag") ?? "";
    const again = await fetch(`${service.base}/photos/${String(json.id)}/thumb`, {
      headers: { "if-none-match": etag },
    });
    expect(again.status).toBe(304);
    const missing = await fetch(`${service.base}/photos/00000000-0000-0000-0000-000000000000/thumb`);
    expect(((await missing.json()) as Json).code).toBe("row_not_found");
    const wrong = await fetch(`${service.base}/photos/seven/thumb`);
    expect(((await wrong.json()) as Json).code).toBe("invalid_request");
  });

  test("a compute route answers with the file that it made", async () => {
    const answer = await fetch(`${service.base}/shrink`, { method: "POST", body: formOf({ picture: "whole.png" }) });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/jpeg"]);
  });

  test("a list answers with addresses", async () => {
    const { rows } = (await (await fetch(`${service.base}/titles`)).json()) as { rows: Json[] };
    expect(rows.length).toBeGreaterThan(0);
    for (const { thumb, high } of rows) {
      expect(high).toBe(48);
      const asked = { method: "HEAD", headers: { origin: "https://shop.example" } };
      const answer = await fetch(String(thumb), asked);
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    }
  });

  test("a handler and an aggregate of the application get files too", async () => {
    const rows = (await (await fetch(`${service.base}/handled`)).json()) as Json[];
    expect(String(rows[0]?.thumb)).toMatch(/^\/_media\//);
    expect((await fetch(service.base + String(rows[0]?.thumb))).status).toBe(200);
    const { rows: totals } = (await (await fetch(`${service.base}/widths`)).json()) as { rows: Json[] };
    expect(Number(totals[0]?.total) % 16).toBe(0);
    expect(Number(totals[0]?.total)).toBeGreaterThan(0);
  });

  test("a document that can run scripts is downloaded and not shown", async () => {
    const { json } = await send("/files", formOf({ text: "page.png" }, { key: "a" }));
    const answer = await fetch(String(json.text));
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment/);
    const plain = await send("/files", formOf({ text: "a.md" }, { key: "b" }));
    expect((await fetch(String(plain.json.text))).headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  });

  test("a temporary file of a function becomes its result, and none is left", async () => {
    const { json } = await send("/files", formOf({ text: "a.md" }, { key: "c" }));
    expect(await (await fetch(String(json.head))).text()).toBe("# Title\n");
    expect(service.leftovers()).toEqual([]);
  });
});

test("the description names the form, its files and the file that is answered", async () => {
  const { paths } = (await (await fetch(`${service.base}/openapi.json`)).json()) as { paths: Record<string, Json> };
  const text = JSON.stringify(paths["/photos"]);
  expect(text).toContain("multipart/form-data");
  expect(JSON.stringify(paths["/photos/{id}/thumb"])).toMatch(/"in":"path"[\s\S]*"image\/\*"/);
  expect(Object.keys(paths)).not.toContain("/_media/{token}/{name}");
});
