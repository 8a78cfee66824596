import { expect, test } from "vitest";
import { assertStrongPassword, findWeakness } from "./weak-passwords.ts";

const EMAIL = "annabel.archer@example.com";

test.each([
  "password123",
  "Password123!",
  "P@ssw0rd123",
  "p4$$w0rd2024",
  "iloveyou12",
  "ILoveYou2024!!",
  "qwertyuiop",
  "1234567890",
  "0987654321",
  "abcdefghij",
  "1qaz2wsx3edc",
  "aaaaaaaaaaaa",
  "abcabcabcabc",
  "letmein1234",
  "welcome-2026",
  "Summer2026!",
  "dragonmonkey1",
  "passwordpassword",
  "administrator",
  "appdb-password",
  "appdbappdb1",
  "annabel.archer1",
  "annabel.archer@example.com!!",
])("refuses %s", (password) => {
  expect(findWeakness(password, EMAIL)).toBeTypeOf("string");
});

test.each([
  "correct horse battery",
  "correct horse",
  "a password of the benchmark",
  "long enough for it",
  "another good password",
  "kV9#mQ2xLp7w",
  "zebra-lamp-violin",
  "my dog sleeps on mondays",
])("accepts %s", (password) => {
  expect(findWeakness(password, "bench@example.com")).toBeUndefined();
});

test("explains the weakness and the fix, without the password", () => {
  expect(() => assertStrongPassword("password123", EMAIL)).toThrow(
    expect.objectContaining({ code: "weak_password", message: expect.not.stringContaining("password123") }),
  );
});

test("checks the longest password quickly", () => {
  expect(findWeakness("ab1".repeat(66), EMAIL)).toBeTypeOf("string");
  expect(findWeakness("kV9#mQ2xLp".repeat(20), EMAIL)).toBeUndefined();
});
