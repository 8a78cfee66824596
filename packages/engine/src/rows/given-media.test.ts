import { appError } from "@appdb/contract/errors";
import { readReference } from "@appdb/contract/media";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import { aColumn, aTable } from "@appdb/testkit/manifest-builder";
import { describe, expect, test } from "vitest";
import { layOutRow } from "../compute/row-layout.ts";
import { compileJsonChecks } from "../kinds/json-checks.ts";
import type { MediaFiles } from "../ports.ts";
import { givenInArguments, givenInRows, requiring } from "./given-media.ts";
import { compileRowReader } from "./validate-row.ts";

const MEDIA = {
  requireSource(cell: string) {
    const { url = "" } = readReference(cell);
    if (url.startsWith("s3://other/"))
      throw appError("media_source_not_allowed", { detail: `No ${url}.`, hint: "Ask." });
  },
  takeOwn: async (address: string) =>
    address.includes("/_media/own/") ? '{"store":"home","key":"aa/b.png"}' : undefined,
} satisfies Partial<MediaFiles> as unknown as MediaFiles;

const LIMITED = { id: "k", reads_media: false } as const;

async function reader(caller?: RequestCaller) {
  const columns = [aColumn("title", "string"), { ...aColumn("picture", "image"), nullable: true }];
  const stored = columns.map((column, at) => ({ ...column, computed: null, id: at + 1, state: "ready" as const }));
  const table = { ...aTable("photos", columns), id: 1, folder: "public", version: 1, identity: "_row" };
  const layout = layOutRow({ ...table, columns: stored, indexes: [] });
  const never = () => {
    throw new Error("not called");
  };
  const checks = await compileJsonChecks([]);
  const read = compileRowReader(layout, ["title", "picture"], checks, { uuid7: never, uuid4: never, now: never });
  return requiring(read, givenInRows(layout, MEDIA))(caller);
}

test("an address of a store that the database does not read is refused with its column", async () => {
  const read = await reader();
  expect(() => read('{"title":"a","picture":"s3://other/b.png"}')).toThrow(
    expect.objectContaining({
      code: "media_source_not_allowed",
      message: "picture: No s3://other/b.png.",
      hint: "Ask.",
      errors: [{ pointer: "/picture", detail: "No s3://other/b.png." }],
    }),
  );
});

test.each(['{"title":"s3://other/b.png"}', '{"title":"a","picture":null}', '{"title":"a","picture":"s3://own/b.png"}'])(
  "a row without such an address is read: %s",
  async (text) => {
    expect((await reader())(text)[0]).toBe(JSON.parse(text).title);
  },
);

test.each(["https://user:hidden@host/a", "http://hidden@host/a"])(
  "an address with a user or a password is refused and not repeated: %s",
  async (picture) => {
    const read = await reader();
    const refused = (() => {
      try {
        return read(JSON.stringify({ title: "a", picture }));
      } catch (error) {
        return error;
      }
    })();
    expect(refused).toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("a user or a password"),
    });
    expect((refused as Error).message + JSON.stringify(refused)).not.toContain("hidden");
  },
);

const NAMED = '{"title":"mediafs://acme:main/home/a.png","picture":"mediafs://acme:main/home/a.png"}';

test("a name in the media store is refused to a caller that may not read it", async () => {
  const read = await reader(LIMITED);
  expect(() => read(NAMED)).toThrow(
    expect.objectContaining({
      code: "forbidden",
      message: expect.stringMatching(/^picture: The API key may not read the media store/),
      hint: expect.stringContaining("--grant access:cloud://<org>:<db>"),
      errors: [{ pointer: "/picture", detail: expect.any(String) }],
    }),
  );
});

test("others may name files there", async () => {
  for (const caller of [undefined, { id: "k", reads_media: true }]) {
    const [, picture] = (await reader(caller))(NAMED);
    expect(picture).toBe('{"url":"mediafs://acme:main/home/a.png"}');
  }
});

test.each(["https://host/_media/own/a.png", "https://host/a.png", "s3://own/b.png"])(
  "a caller that may not read the media store gives %s",
  async (picture) => {
    const row = (await reader(LIMITED))(JSON.stringify({ title: "a", picture }));
    expect(row[1]).toBe(JSON.stringify({ url: picture }));
  },
);

describe("the arguments of a query", () => {
  const given = givenInArguments([aColumn("picture", "image"), aColumn("word", "string")], MEDIA);
  const args = (picture: string) =>
    new Map([
      ["picture", picture],
      ["word", "https://host/_media/own/a"],
    ]);

  test("are refused like columns of a row", () => {
    expect(() => given?.require(args('{"url":"s3://other/b.png"}'), undefined)).toThrow(
      "picture: No s3://other/b.png.",
    );
    expect(() => given?.require(args('{"url":"s3://own/b.png"}'), undefined)).not.toThrow();
  });

  test("name a file of the database by an address that it gave", async () => {
    const taken = await given?.take(args('{"url":"https://host/_media/own/a.png"}'));
    expect([...(taken ?? [])]).toEqual([
      ["picture", '{"store":"home","key":"aa/b.png"}'],
      ["word", "https://host/_media/own/a"],
    ]);
    const other = '{"url":"https://host/_media/other/a.png"}';
    expect((await given?.take(args(other)))?.get("picture")).toBe(other);
  });

  test("name no file of the media store for a caller that may not read it", () => {
    const named = args('{"url":"mediafs://acme:main/home/a.png"}');
    expect(() => given?.require(named, LIMITED)).toThrow(expect.objectContaining({ code: "forbidden" }));
    expect(() => given?.require(named, { id: "k", reads_media: true })).not.toThrow();
  });

  test("of a query without files take no step", () => {
    expect(givenInArguments([aColumn("word", "string")], MEDIA)).toBeUndefined();
  });
});
