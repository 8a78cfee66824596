import { Secret } from "@appdb/system/secret";
import { expect, test } from "vitest";
import { hasMetricsToken } from "./metrics-token.ts";

const TOKEN = new Secret("a token of 32 characters or longer".replaceAll(" ", "-"));

test("accepts the token as a bearer token", () => {
  expect(hasMetricsToken(`Bearer ${TOKEN.reveal()}`, TOKEN)).toBe(true);
  expect(hasMetricsToken(`bearer  ${TOKEN.reveal()}`, TOKEN)).toBe(true);
});

test.each([undefined, "", "Bearer", "Bearer x", TOKEN.reveal(), `Basic ${TOKEN.reveal()}`])("refuses %s", (shown) => {
  expect(hasMetricsToken(shown, TOKEN)).toBe(false);
});

test("accepts nothing if no token is set", () => {
  expect(hasMetricsToken("Bearer undefined", undefined)).toBe(false);
  expect(hasMetricsToken("Bearer ", undefined)).toBe(false);
});
