import { bytesContent } from "@appdb/media/stores/content";
import { eventually } from "@appdb/testkit/eventually";
import { type ObjectStore, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readServerConfig } from "../../config/config.ts";
import { type MediaBucket, openMediaBucket } from "../../storage/media-bucket.ts";
import { watchBucket } from "./watch-bucket.ts";

const HIDDEN = "a-secret-that-is-wrong";

describe.skipIf(whyNoStore("s3") !== undefined)("the operator's bucket", () => {
  let server: ObjectStore;
  beforeAll(async () => {
    server = await startObjectStore("s3");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const open = (env: Readonly<Record<string, string>> = {}): MediaBucket => {
    const { media } = readServerConfig({ SERVICE_MEDIA_URL: `${server.address}/x`, ...server.environment, ...env });
    if (media === undefined) throw new Error("There is no bucket.");
    return openMediaBucket(media);
  };

  test("is checked by a list and an object, of which nothing is left", async () => {
    await using bucket = open();
    await bucket.check("write");
    const one = await bucket.open({ org_id: "org", id: "one" });
    for (const key of ["a", "b/c"]) await one.put(key, bytesContent(Buffer.from(key)), { content_type: "text/plain" });
    const other = await bucket.open({ org_id: "org", id: "one-more" });
    await other.put("a", bytesContent(Buffer.from("theirs")), { content_type: "text/plain" });
    expect([
      await bucket.empty({ org_id: "org", id: "one" }),
      await bucket.empty({ org_id: "org", id: "one" }),
    ]).toEqual([2, 0]);
    expect((await other.list()).objects).toHaveLength(1);
    expect(await bucket.empty({ org_id: "check", id: "" })).toBe(0);
  });

  test.each([
    ["wrong credentials", { AWS_SECRET_ACCESS_KEY: HIDDEN }, "refuses access"],
    ["no credentials", { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" }, "refuses access"],
    ["a missing bucket", { SERVICE_MEDIA_URL: "s3://not-there" }, "does not exist"],
    ["no server", { AWS_ENDPOINT_URL: "http://127.0.0.1:9" }, "does not answer"],
    ["another region", { AWS_REGION: "eu-west-9" }, "SERVICE_MEDIA_URL"],
    ["a key of Google that is not JSON", { SERVICE_MEDIA_URL: "gs://bucket", GOOGLE_CREDENTIALS: HIDDEN }, "MEDIA_URL"],
  ])("%s: the problem names the variable, and no value", async (_name, env, text) => {
    await using bucket = open(env);
    using watch = watchBucket(bucket, createSilentLog(), 1_000_000);
    await eventually(() => expect(watch.problems()).toHaveLength(1), { timeout_ms: 20_000 });
    const [problem] = watch.problems();
    expect(problem?.what).toContain(text);
    expect(problem?.what).toContain("SERVICE_MEDIA_URL");
    expect(JSON.stringify(problem)).not.toMatch(/a-secret|s3:|gs:|not-there|127\.0/);
  });
});
