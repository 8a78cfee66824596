import { expect, test } from "vitest";
import { findTotpStep, makeTotpSecret, toBase32, totpCode, totpUri } from "./totp.ts";

/** The secret of the test vectors of RFC 6238, appendix B. */
const SECRET = Buffer.from("12345678901234567890");

test.each([
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
  [20_000_000_000, "353130"],
])("computes the code of RFC 6238 at second %i", (second, code) => {
  expect(totpCode(SECRET, Math.floor(second / 30))).toBe(code);
});

test("accepts codes of the previous and next step only", () => {
  const nowMs = 1_234_567_890_000;
  const step = Math.floor(nowMs / 30_000);
  for (const near of [step - 1, step, step + 1]) expect(findTotpStep(SECRET, totpCode(SECRET, near), nowMs)).toBe(near);
  for (const far of [step - 2, step + 2]) expect(findTotpStep(SECRET, totpCode(SECRET, far), nowMs)).toBeUndefined();
  expect(findTotpStep(SECRET, "", nowMs)).toBeUndefined();
});

test("writes the URI for authenticator apps", () => {
  expect(toBase32(SECRET)).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  const uri = new URL(totpUri(SECRET, "cloud.example.com", "ann+b@example.com"));
  expect(uri.searchParams.get("secret")).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  expect(uri.searchParams.get("issuer")).toBe("cloud.example.com");
  expect(decodeURIComponent(uri.pathname)).toContain("cloud.example.com:ann+b@example.com");
});

test("creates a new secret each time", () => {
  expect(makeTotpSecret().equals(makeTotpSecret())).toBe(false);
});
