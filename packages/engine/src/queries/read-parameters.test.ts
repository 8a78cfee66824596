import type { ManifestParameter } from "@appdb/contract/manifest";
import { expect, test } from "vitest";
import { compileParameters } from "./read-parameters.ts";

const parameter = (name: string, kind: "json" | "int"): ManifestParameter => ({
  name,
  type: { kind },
  nullable: false,
  kind: "positional",
  is_batched: false,
});
const reader = compileParameters([parameter("ks", "json"), parameter("n", "int")]);

test("a repeated Json parameter is a list of its texts", () => {
  expect(reader.fromUrl("ks=a&n=1&ks=b%22&ks=3").get("ks")).toBe('["a","b\\"",3]');
});

test("a JSON list stays the same; for other types the last text counts", () => {
  const args = reader.fromUrl(`ks=${encodeURIComponent('["a","b"]')}&n=1&n=2`);
  expect(args.get("ks")).toBe('["a","b"]');
  expect(Number(args.get("n"))).toBe(2);
});

test("text that is not JSON is refused with the accepted forms", () => {
  expect(() => reader.fromUrl("ks=a&n=1")).toThrow('a list is written ["a","b"], a text "a"');
});
