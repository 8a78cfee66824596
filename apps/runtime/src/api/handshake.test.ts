import { OLDEST_CLIENT, VERSION } from "@appdb/contract/version";
import { expect, test } from "vitest";
import { checkClientVersion, checkToken } from "./handshake.ts";

test("accepts this version and the oldest supported one", () => {
  for (const version of [VERSION, OLDEST_CLIENT, "99.0.0"]) expect(() => checkClientVersion(version)).not.toThrow();
  for (const version of ["0.0.1", "nonsense", undefined]) {
    expect(() => checkClientVersion(version)).toThrow(expect.objectContaining({ code: "client_too_old" }));
  }
});

test("accepts only the complete token", () => {
  const token = "a".repeat(43);
  expect(() => checkToken(`Bearer ${token}`, token)).not.toThrow();
  for (const shown of [undefined, "", token, `Bearer ${token}a`, `Bearer ${token.slice(1)}`, `Basic ${token}`]) {
    expect(() => checkToken(shown, token)).toThrow(expect.objectContaining({ code: "unauthorized" }));
  }
});
