import { Secret } from "@appdb/system/secret";
import { expect, test } from "vitest";
import { findPlainAddresses, needsMailTls } from "./config-identity.ts";

test.each([
  ["smtp://mail.example.com:587", "0", true],
  ["smtp://10.0.0.9", "0", true],
  ["smtp://127.0.0.1.example.com", "0", true],
  ["smtps://mail.example.com", "0", true],
  ["smtp://mail.example.com:587", "1", false],
  ["smtp://127.0.0.1:1025", "0", false],
  ["smtp://user:word@localhost", "0", false],
  ["smtp://[::1]:25", "0", false],
] as const)("mail to %s with SERVICE_SMTP_INSECURE=%s requires TLS: %s", (url, insecure, expected) => {
  expect(needsMailTls(new Secret(url), insecure)).toBe(expected);
});

test("lists remote addresses without TLS", () => {
  const found = findPlainAddresses({
    public_url: "http://cloud.example.com",
    oidc: { issuer: "http://id.example.com/realm" },
  });
  expect(found).toEqual([
    { setting: "SERVICE_PUBLIC_URL", url: "http://cloud.example.com" },
    { setting: "SERVICE_OIDC_ISSUER", url: "http://id.example.com" },
  ]);
  expect(findPlainAddresses({ public_url: "https://a.example", oidc: { issuer: "http://[::1]:80/" } })).toEqual([]);
  expect(findPlainAddresses({ public_url: undefined, oidc: undefined })).toEqual([]);
});
