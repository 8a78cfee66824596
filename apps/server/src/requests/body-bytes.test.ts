import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { Principal } from "../audit/principal.ts";
import { BodyBytes, type CountedBody, counted, ownerOfBodies } from "./body-bytes.ts";

const MB = 1_000_000;
const refused = (most: number) =>
  expect.objectContaining({ code: "rate_limited", meta: { retry_after_s: 1, most_body_bytes: most } });

/** A body of which some bytes arrived. */
function arrived(bodies: BodyBytes, caller: string, organization: string | undefined, bytes: number): CountedBody {
  const body = bodies.begin(caller, organization);
  body.add(bytes);
  return body;
}

test("bodies of an organization count as they arrive, until they are parsed", () => {
  const bodies = new BodyBytes();
  const [ann, ben] = [bodies.begin("ann", "acme"), bodies.begin("ben", "acme")];
  ann.add(32 * MB);
  ben.add(8 * MB);
  expect(() => ben.add(1)).toThrow(refused(40 * MB));
  arrived(bodies, "cid", "other", 32 * MB);
  ann.parsed();
  ben.add(24 * MB);
});

test("bodies of a caller count across organizations, until they are answered", () => {
  const bodies = new BodyBytes();
  const first = arrived(bodies, "ann", "one", 32 * MB);
  arrived(bodies, "ann", "two", 8 * MB);
  const third = bodies.begin("ann", "three");
  first.parsed();
  expect(() => third.add(1)).toThrow(refused(40 * MB));
  arrived(bodies, "ben", "three", 32 * MB);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  third.add(8 * MB);
  expect(() => third.add(32 * MB)).toThrow(refused(40 * MB));
});

test("all large bodies have a limit, which small bodies do not need", () => {
  const bodies = new BodyBytes();
  const [first] = ["a", "b", "c", "d", "e"].map((name) => arrived(bodies, name, name, 32_300_000));
  arrived(bodies, "f", "f", 300_000);
  const large = arrived(bodies, "g", "g", 300_000);
  expect(() => large.add(1)).toThrow(refused(160 * MB));
  first?.[Symbol.dispose]();
  large.add(32 * MB);
});

test("a body after its end counts for nothing", () => {
  const bodies = new BodyBytes();
  const body = arrived(bodies, "ann", "acme", 30 * MB);
  body[Symbol.dispose]();
  body.add(30 * MB);
  arrived(bodies, "ann", "acme", 40 * MB);
});

test("the rest of a refused body is dropped before its error", async () => {
  const bodies = new BodyBytes();
  const full = arrived(bodies, "ann", undefined, 40 * MB - 3);
  const source = Readable.from([Buffer.from("abc"), Buffer.from("d"), Buffer.from("e")]);
  await expect(text(counted(source, bodies.begin("ann", undefined)))).rejects.toThrow(refused(40 * MB));
  expect(source.readableEnded).toBe(true);
  full[Symbol.dispose]();
  arrived(bodies, "ann", undefined, 40 * MB);
});

test("keys count with the person whom they act as", () => {
  const key = { id: "key-1", name: "ci", grants: [] };
  expect(ownerOfBodies({ user_id: "ann", key } as unknown as Principal)).toBe("ann");
  expect(ownerOfBodies({ user_id: null, key } as unknown as Principal)).toBe("key-1");
  expect(ownerOfBodies(undefined)).toBeUndefined();
});
