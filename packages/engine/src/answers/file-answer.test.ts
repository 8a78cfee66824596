import { expect, test } from "vitest";
import type { MediaFile } from "../ports.ts";
import { fileAnswer } from "./file-answer.ts";

const CONTENT = "0123456789";

function fileOf(parts: Partial<MediaFile> = {}): MediaFile {
  return {
    is_fixed: true,
    bytes: CONTENT.length,
    type: "image/png",
    name: "a.png",
    etag: '"e1"',
    async read(start, end) {
      return (async function* () {
        yield Buffer.from(CONTENT.slice(start, end));
      })();
    },
    ...parts,
  };
}

async function ask(headers: Record<string, string> = {}, parts: Partial<MediaFile> = {}, method = "GET") {
  const answer = await fileAnswer(fileOf(parts), { method, headers }, "no-cache");
  let text = "";
  if (typeof answer.body === "string") text = answer.body;
  else for await (const piece of answer.body as AsyncIterable<Uint8Array>) text += Buffer.from(piece).toString();
  return { ...answer, text };
}

test("a file is answered whole, with its type, length and tag", async () => {
  const { status, headers, text } = await ask();
  expect([status, text]).toEqual([200, CONTENT]);
  expect(headers).toMatchObject({
    "content-type": "image/png",
    "content-length": "10",
    etag: '"e1"',
    "accept-ranges": "bytes",
    "cache-control": "no-cache",
    "content-disposition": 'inline; filename="a.png"',
  });
});

test.each([
  ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
  ["bytes=8-", 206, "89", "bytes 8-9/10"],
  ["bytes=-2", 206, "89", "bytes 8-9/10"],
  ["bytes=-200", 206, CONTENT, "bytes 0-9/10"],
  ["bytes=3-300", 206, "3456789", "bytes 3-9/10"],
  ["bytes=10-", 416, "", "bytes */10"],
  ["bytes=-0", 416, "", "bytes */10"],
  ["bytes=5-2", 200, CONTENT, undefined],
  ["bytes=0-1,4-5", 200, CONTENT, undefined],
  ["lines=0-1", 200, CONTENT, undefined],
  ["bytes=-", 200, CONTENT, undefined],
  ["bytes=99999999999999999999-", 200, CONTENT, undefined],
])("the range %s", async (range, status, text, contentRange) => {
  const answer = await ask({ range });
  expect([answer.status, answer.text, answer.headers["content-range"]]).toEqual([status, text, contentRange]);
});

test("a range of another version of the file is ignored", async () => {
  expect((await ask({ range: "bytes=0-3", "if-range": '"e0"' })).status).toBe(200);
  expect((await ask({ range: "bytes=0-3", "if-range": '"e1"' })).status).toBe(206);
});

test.each(['"e1"', 'W/"e1"', '"e0", "e1"', "*"])("a client that has %s gets no content", async (tag) => {
  const { status, text } = await ask({ "if-none-match": tag });
  expect([status, text]).toEqual([304, ""]);
});

test("HEAD has the headers alone", async () => {
  const { status, headers, text } = await ask({}, {}, "HEAD");
  expect([status, headers["content-length"], text]).toEqual([200, "10", ""]);
});

test("an empty file is answered", async () => {
  const { status, headers } = await ask({}, { bytes: 0 });
  expect([status, headers["content-length"]]).toEqual([200, "0"]);
});

test.each(["image/svg+xml", "text/html", "application/xml", "application/octet-stream", "application/xhtml+xml"])(
  "%s is downloaded and not shown, because it may run scripts",
  async (type) => {
    const { headers } = await ask({}, { type });
    expect(headers["content-disposition"]).toMatch(/^attachment/);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["content-security-policy"]).toContain("sandbox");
  },
);

test("a name of any alphabet is sent in both forms, and cannot end the header", async () => {
  const { headers } = await ask({}, { name: 'Ä "写真"\r\nx: y.png' });
  expect(headers["content-disposition"]).toBe(
    "inline; filename=\"_ ______x: y.png\"; filename*=UTF-8''%C3%84%20%22%E5%86%99%E7%9C%9F%22%0D%0Ax%3A%20y.png",
  );
});
