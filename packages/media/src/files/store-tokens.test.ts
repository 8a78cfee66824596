import { AppError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { type StorePermit, StoreTokens } from "./store-tokens.ts";

const PUT: StorePermit = { action: "put", name: "写真/a.jpg", is_new: true, bytes: 7, sha256: null };

function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.message}`;
    throw error;
  }
  return "accepted";
}

test("a token gives back its permit until it expires", () => {
  let now = 1_700_000_000_000;
  const tokens = new StoreTokens("secret", "a", () => now);
  const token = tokens.make(PUT, 60);
  now += 60_000;
  expect(tokens.read(token)).toEqual(PUT);
  now += 2_000;
  expect(refusalOf(() => tokens.read(token))).toMatch(/media_address_invalid.*expired/);
});

test("a token of another secret or database, a changed or a cut one is refused", () => {
  const token = new StoreTokens("secret", "a").make(PUT, 60);
  const read = (text: string, secret = "secret", database = "a") =>
    refusalOf(() => new StoreTokens(secret, database).read(text));
  expect(read(token)).toBe("accepted");
  expect(read(token, "other")).toContain("did not make it");
  expect(read(token, "secret", "b")).toContain("did not make it");
  for (let at = 0; at < token.length - 1; at += 1) {
    expect(read(token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1))).toContain(
      "did not make it",
    );
    expect(read(token.slice(0, at))).toContain("did not make it");
  }
  for (const added of ["x", "=", "\n"]) expect(read(token + added)).toContain("did not make it");
  expect(read("A".repeat(9_000))).toContain("too long");
});
