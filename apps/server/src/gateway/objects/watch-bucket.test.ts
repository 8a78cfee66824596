import { appError } from "@appdb/contract/errors";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { type BucketAction, watchBucket } from "./watch-bucket.ts";

const failure = (code: "media_denied" | "media_store_full" | "media_not_found") =>
  appError(code, { detail: "The store s3://bucket said no." });

test("a problem names the variable, and lasts until the bucket works again", async () => {
  const asked: BucketAction[] = [];
  let fails = true;
  const check = async (how: BucketAction) => {
    asked.push(how);
    if (fails) throw failure("media_denied");
  };
  using watch = watchBucket({ check }, createSilentLog(), 5);
  await eventually(() => expect(watch.problems()).toHaveLength(1));
  const [problem] = watch.problems();
  expect(problem?.code).toBe("media_bucket_failed");
  expect(problem?.what).toMatch(/SERVICE_MEDIA_URL refuses access/);
  expect(problem?.what).toContain("AWS_SECRET_ACCESS_KEY");
  expect(problem?.what).not.toContain("s3://");
  fails = false;
  await eventually(() => expect(watch.problems()).toEqual([]));
  await eventually(() => expect(asked.at(-1)).toBe("read"));
});

test("requests of pods show a problem, and what only one of them did wrong does not", async () => {
  using watch = watchBucket({ check: async () => undefined }, createSilentLog(), 1_000_000);
  await new Promise((resolve) => setImmediate(resolve));
  watch.note("read", failure("media_not_found"));
  expect(watch.problems()).toEqual([]);
  watch.note("write", failure("media_store_full"));
  watch.note("read", undefined);
  expect(watch.problems()).toMatchObject([{ what: expect.stringContaining("is full") }]);
  watch.note("read", new Error("the SDK could not be loaded"));
  expect(watch.problems()).toHaveLength(2);
  watch.note("read", undefined);
  watch.note("write", undefined);
  expect(watch.problems()).toEqual([]);
});
