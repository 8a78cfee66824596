import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readServerConfig } from "./config.ts";
import { keepMediaUrl } from "./media-url.ts";
import { openServerHome } from "./server-home.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-config-"));
  openServerHome(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const read = (env: Record<string, string>) => readServerConfig({ SERVICE_HOME: home, ...env });
const keep = (address: string) => keepMediaUrl(home, read({ SERVICE_MEDIA_URL: address }).media);

test("a bucket gets the variables of its cloud, which are not shown", () => {
  expect(read({ SERVICE_MEDIA_URL: "" }).media).toBeUndefined();
  const config = read({
    SERVICE_MEDIA_URL: "s3://bucket/media/",
    AWS_SECRET_ACCESS_KEY: "hidden",
    AWS_REGION: "eu-1",
    GOOGLE_CREDENTIALS: "",
    PATH: "/bin",
  });
  expect(config.media?.bucket).toEqual({ kind: "s3", bucket: "bucket", prefix: "media" });
  expect(Object.keys(config.media?.environment ?? {})).toEqual(["AWS_SECRET_ACCESS_KEY", "AWS_REGION"]);
  expect(inspect(config, { depth: 9 }) + JSON.stringify(config)).not.toContain("hidden");
});

test("a media store in the bucket has a default and a maximum size", () => {
  const bounds = (env: Record<string, string>) => read({ SERVICE_MEDIA_URL: "s3://bucket", ...env }).media?.bounds;
  expect(bounds({ SERVICE_MEDIA_GB: "" })).toEqual({ default_gb: 100, max_gb: 1_000 });
  expect(bounds({ SERVICE_MAX_MEDIA_GB: "20" })).toEqual({ default_gb: 20, max_gb: 20 });
  expect(bounds({ SERVICE_MEDIA_GB: "5", SERVICE_MAX_MEDIA_GB: "20" })).toEqual({ default_gb: 5, max_gb: 20 });
  expect(() => bounds({ SERVICE_MEDIA_GB: "30", SERVICE_MAX_MEDIA_GB: "20" })).toThrow(
    "SERVICE_MEDIA_GB: is 30, and SERVICE_MAX_MEDIA_GB is 20: no database can have it",
  );
  expect(() => bounds({ SERVICE_MEDIA_GB: "0" })).toThrow("SERVICE_MEDIA_GB");
});

test.each(["file:///srv", "mediafs://acme:main/home", "s3://Bucket", "https://bucket", "s3://key:secret@bucket"])(
  "what is not a bucket is refused without its value: %s",
  (address) => {
    expect(() => read({ SERVICE_MEDIA_URL: address })).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(/SERVICE_MEDIA_URL: expected the address of a bucket: s3:\/\/bucket\/prefix/),
      }),
    );
    expect(() => read({ SERVICE_MEDIA_URL: address })).not.toThrow(address);
  },
);

test("a start that would not find files in a bucket is refused, and names the setting and the way out", () => {
  keepMediaUrl(home, undefined);
  keep("s3://bucket/media");
  keep("s3://bucket/media/");
  const file = join(home, "server", "media-url");
  expect(readFileSync(file, "utf8")).toBe("s3://bucket/media\n");
  for (const change of [() => keep("gs://bucket"), () => keepMediaUrl(home, undefined)]) {
    expect(change).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(/^SERVICE_MEDIA_URL is .* files of this home's databases are in s3:\/\/bucket/),
        hint: `Set SERVICE_MEDIA_URL=s3://bucket/media. To use another place, copy all objects there first, then: rm ${file}`,
      }),
    );
  }
  rmSync(file);
  keep("gs://bucket");
});
