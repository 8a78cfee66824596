import { expect, test } from "vitest";
import { mediaListQuerySchema } from "./media-files.ts";

test("a list takes no NUL, which PostgreSQL refuses, in a name or a cursor", () => {
  expect(mediaListQuerySchema.parse({ name: "a", cursor: "b" })).toMatchObject({ name: "a", cursor: "b" });
  for (const given of [{ name: "a\0" }, { cursor: "\0" }]) {
    expect(mediaListQuerySchema.safeParse(given).error?.issues[0]?.message).toBe("Must not contain a NUL character");
  }
});
