import { expect, test } from "vitest";
import { openStore } from "./open-store.ts";

test("opening a store of S3 prints no warning", async () => {
  const warnings: string[] = [];
  const listen = ({ message }: Error) => void warnings.push(message);
  process.on("warning", listen);
  try {
    await using store = await openStore({ kind: "s3", bucket: "pictures", prefix: "" }, { environment: {} });
    await new Promise((resolve) => setImmediate(resolve));
    expect(store.address).toBe("s3://pictures");
  } finally {
    process.off("warning", listen);
  }
  expect(warnings).toEqual([]);
});
