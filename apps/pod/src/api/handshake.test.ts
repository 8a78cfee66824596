import { OLDEST_CLIENT, VERSION } from "@appdb/contract/version";
import { expect, test } from "vitest";
import { checkClientVersion, checkToken, compareVersions } from "./handshake.ts";

test("versions compare by number, not by letter", () => {
  expect(compareVersions("0.10.0", "0.9.9")).toBe(1);
  expect(compareVersions("0.8.0", "0.8.0")).toBe(0);
  expect(compareVersions("0.8.0-rc.1", "0.8.0")).toBe(0);
  expect(compareVersions("0.7.12", "0.8")).toBe(-1);
});

test("this version and the oldest that is answered come in, older and nameless ones do not", () => {
  for (const version of [VERSION, OLDEST_CLIENT, "99.0.0"]) expect(() => checkClientVersion(version)).not.toThrow();
  for (const version of ["0.0.1", "nonsense", undefined]) {
    expect(() => checkClientVersion(version)).toThrow(expect.objectContaining({ code: "client_too_old" }));
  }
});

test("only the whole token opens", () => {
  const token = "a".repeat(43);
  expect(() => checkToken(`Bearer ${token}`, token)).not.toThrow();
  for (const shown of [undefined, "", token, `Bearer ${token}a`, `Bearer ${token.slice(1)}`, `Basic ${token}`]) {
    expect(() => checkToken(shown, token)).toThrow(expect.objectContaining({ code: "unauthorized" }));
  }
});
