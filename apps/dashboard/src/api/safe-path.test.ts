import { expect, test } from "vitest";
import { safePath } from "./safe-path.ts";

test.each([
  ["/orgs/acme/keys", "/orgs/acme/keys"],
  ["/device?user_code=WXYZ-1234", "/device?user_code=WXYZ-1234"],
  ["/orgs/../account#top", "/account#top"],
])("%j is a path of this site", (next, path) => {
  expect(safePath(next)).toBe(path);
});

test.each([
  [undefined],
  [""],
  ["orgs"],
  ["https://elsewhere.example/"],
  ["//elsewhere.example/"],
  ["/\\elsewhere.example/"],
  ["/\t/elsewhere.example/"],
  ["/\n\\elsewhere.example"],
  ["/.//elsewhere.example"],
  ["javascript:alert(1)"],
])("%j does not lead to another site", (next) => {
  expect(safePath(next)).toBe("/");
});
