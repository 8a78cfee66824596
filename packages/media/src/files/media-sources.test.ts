import { describe, expect, test } from "vitest";
import { MediaSources } from "./media-sources.ts";

const AZURE = "wasbs://pictures@acme.blob.core.windows.net";
const sources = new MediaSources(
  [
    "home",
    "file:///srv/media",
    "mediafs://acme:main/home",
    "s3://given/in/",
    "gs://open",
    `${AZURE}/a`,
    "s3://given/in/more",
  ],
  (store) => `ALLOWED=${store}`,
);
const codeOf = (url: string): string => {
  try {
    sources.find(url);
    return "found";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test.each([
  ["s3://given/in/a.png", { store: "s3://given/in", key: "a.png" }],
  ["s3://given/in/more/b/c=d/e.png", { store: "s3://given/in", key: "more/b/c=d/e.png" }],
  ["gs://open/a.png", { store: "gs://open", key: "a.png" }],
  ["mediafs://acme:main/home/a/größe 1.png", { store: "mediafs://acme:main/home", key: "a/größe 1.png" }],
  [`${AZURE}/a/b.png`, { store: `${AZURE}/a`, key: "b.png" }],
  ["wasb://pictures@acme.blob.core.windows.net/a/b.png", { store: `${AZURE}/a`, key: "b.png" }],
  ["abfss://pictures@acme.dfs.core.windows.net/a/b.png", { store: `${AZURE}/a`, key: "b.png" }],
])("%s is an object of a known store", (url, object) => expect(sources.find(url)).toEqual(object));

describe("an address outside of the known stores", () => {
  test.each([
    "s3://other/in/a.png",
    "mediafs://acme:other/home/a.png",
    "mediafs://other:main/home/a.png",
    "s3://given/a.png",
    "s3://given/in2/a.png",
    "s3://given/i/a.png",
    "s3://given/in",
    "gs://given/in/a.png",
    "gs://open2/a.png",
    "s3://open/a.png",
    `${AZURE}/b/a.png`,
    `${AZURE}/ab/a.png`,
    "wasbs://other@acme.blob.core.windows.net/a/b.png",
    "wasbs://pictures@attacker.blob.core.windows.net/a/b.png",
  ])("is refused: %s", (url) => expect(codeOf(url)).toBe("media_source_not_allowed"));

  test("of a hosted database is refused with the command that copies the file", () => {
    expect(() => sources.find("mediafs://acme:other/home/größe '1'.png")).toThrow(
      expect.objectContaining({
        hint: "Copy the file (cli media cp 'mediafs://acme:other/home/größe '\\''1'\\''.png' copies/), and give the path of the copy: copies/größe '1'.png",
      }),
    );
  });

  test("is refused with the address and the setting that allows it", () => {
    expect(() => sources.find("s3://other/folder/a.png")).toThrow(
      expect.objectContaining({
        message: "The address s3://other/folder/a.png is not in a store that this database reads.",
        hint: "Upload the file, or allow its store: ALLOWED=s3://other/folder",
        meta: { address: "s3://other/folder/a.png" },
      }),
    );
  });
});

describe("a second spelling of an address", () => {
  test.each([
    "s3://given/in/../other/a.png",
    "s3://given/in/..",
    "s3://given/in/./a.png",
    "s3://given/in//a.png",
    "s3://given//in/a.png",
    "s3://given/in/",
    "s3://given/in/%2e%2e/a.png",
    "s3://given/in%2fa.png",
    "s3://given/in/a.png?versionId=1",
    "s3://given/in/a.png#b",
    "s3://given/in/..%2f..%2fother/a.png",
    "s3://given/in\\..\\a.png",
    "s3://GIVEN/in/a.png",
    "S3://given/in/a.png",
    "s3://given:443/in/a.png",
    "s3://user@given/in/a.png",
    "s3://given.evil/in/é.png",
    "s3:///in/a.png",
    "s3://given",
    "s3:given/in/a.png",
    "gs://open/-a.png",
    "gs://open/.a.png",
    "wasbs://pictures@acme.blob.core.windows.net.evil.com/a/b.png",
    "wasbs://pictures@acme.blob.core.windows.net@evil.com/a/b.png",
    "wasbs://pictures@acme.blob.core.windows.net:1/a/b.png",
    "wasbs://a@b@acme.blob.core.windows.net/a/b.png",
    "wasbs://pictures/a/b.png",
    "file:///srv/media/a.png",
    "mediafs://main/home/a.png",
    "mediafs://acme:main/home",
    "mediafs://acme:main/home/a/",
    "mediafs://acme:main/home/../a.png",
    "mediafs://acme:main/a.png",
    "https://given/in/a.png",
    "",
    "/",
  ])("is not an address of a file: %s", (url) => expect(codeOf(url)).toBe("invalid_request"));
});
