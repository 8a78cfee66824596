import { expect, test } from "vitest";
import type { HostCertificate } from "../routes/control-services.ts";
import { noteOnCertificate } from "./certificate-note.ts";

const AT = "2026-11-23T10:00:00.000Z";
const good: HostCertificate = { state: "good", issued_at: AT, expires_at: AT, error: null, next_order_at: null };
const failed = { error: "DNS problem", next_order_at: AT };

test("reports a certificate that clients refuse or will refuse", () => {
  expect(noteOnCertificate(null)).toBeUndefined();
  expect(noteOnCertificate(good)).toBeUndefined();
  const reasons = ["DNS problem", `It is ordered again at ${AT}`];
  expect(noteOnCertificate({ ...good, ...failed })).toEqual({
    text: `its certificate ends at ${AT} and could not be renewed`,
    reasons,
    is_down: false,
  });
  expect(noteOnCertificate({ ...good, ...failed, state: "ended" })).toMatchObject({ reasons, is_down: true });
  expect(noteOnCertificate({ ...good, state: "missing" })).toMatchObject({
    text: "its certificate is being ordered; calls fail until it is issued",
    reasons: [],
    is_down: true,
  });
  expect(noteOnCertificate({ ...good, ...failed, state: "missing" })?.text).toContain("could be ordered");
});
