import { type AppError, toProblem } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { parseStoreAddress } from "./media-address.ts";
import { openStore } from "./open-store.ts";

const KEYS = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };

test("opening a store of S3 prints no warning", async () => {
  const warnings: string[] = [];
  const listen = ({ message }: Error) => void warnings.push(message);
  process.on("warning", listen);
  try {
    await using store = await openStore({ kind: "s3", bucket: "pictures", prefix: "" }, { environment: KEYS });
    await new Promise((resolve) => setImmediate(resolve));
    expect(store.address).toBe("s3://pictures");
  } finally {
    process.off("warning", listen);
  }
  expect(warnings).toEqual([]);
});

test.each([
  ["gs://bucket", { STORAGE_EMULATOR_HOST: "http://127.0.0.1:9" }],
  [
    "wasbs://pictures@acme.blob.core.windows.net",
    { AZURE_STORAGE_ENDPOINT: "http://127.0.0.1:9", AZURE_STORAGE_KEY: "a2V5" },
  ],
  ["s3://bucket", { AWS_ENDPOINT_URL: "http://127.0.0.1:9", ...KEYS }],
])("a host that is not there is reported in seconds: %s", async (address, environment) => {
  await using store = await openStore(parseStoreAddress(address) as never, { environment });
  const began = performance.now();
  await expect(store.head("key")).rejects.toMatchObject({ code: "media_unavailable" });
  expect(performance.now() - began).toBeLessThan(8_000);
});

test.each([
  ["s3://bucket", {}, "AWS_ACCESS_KEY_ID is not set"],
  ["s3://bucket", { ...KEYS, AWS_ACCESS_KEY_ID: "" }, "AWS_ACCESS_KEY_ID is empty"],
  ["s3://bucket", { ...KEYS, AWS_SECRET_ACCESS_KEY: "" }, "AWS_SECRET_ACCESS_KEY is empty"],
  ["gs://bucket", { GOOGLE_CREDENTIALS: "" }, "GOOGLE_CREDENTIALS is not the JSON key"],
  ["gs://bucket", { GOOGLE_CREDENTIALS: "s3cret" }, "GOOGLE_CREDENTIALS is not the JSON key"],
  ["gs://bucket", { GOOGLE_CREDENTIALS: '{"private_key": "s3cret"}' }, "GOOGLE_CREDENTIALS is not the JSON key"],
  ["gs://bucket", { GOOGLE_CREDENTIALS: "null" }, "GOOGLE_CREDENTIALS is not the JSON key"],
])("credentials that cannot be used are named without their value: %s %o", async (address, environment, problem) => {
  const opened = openStore(parseStoreAddress(address) as never, { environment });
  const error = (await opened.catch((failure: unknown) => failure)) as AppError;
  expect(error).toMatchObject({
    code: "media_denied",
    message: expect.stringContaining(`${address} cannot be used: ${problem}`),
  });
  expect(JSON.stringify([toProblem(error), String(error.cause)])).not.toContain("s3cret");
});
