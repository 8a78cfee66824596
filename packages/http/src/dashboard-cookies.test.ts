import { expect, test } from "vitest";
import { setsDashboardCookie, withoutDashboardCookies } from "./dashboard-cookies.ts";

const OWN = [
  "appdb.session_token=abc.def",
  "__Secure-appdb.session_token=abc",
  "__Host-appdb.session_token=abc",
  "__host-APPDB.other=1",
  "=appdb.session_token=abc",
  "appdb.session_token",
];

test.each(OWN)("removes %s from a Cookie header and refuses it in Set-Cookie", (cookie) => {
  expect(withoutDashboardCookies(cookie)).toBe(undefined);
  expect(withoutDashboardCookies(`a=1; ${cookie}; b=2`)).toBe("a=1; b=2");
  expect(withoutDashboardCookies(`${cookie};\tb="x; ${cookie}"`)).toBe('b="x');
  expect(setsDashboardCookie(`${cookie}; Path=/`)).toBe(true);
  expect(setsDashboardCookie(` \t${cookie}; Path=/`)).toBe(true);
});

test.each(["a=1; b=2", "session=appdb", "my_appdb.session_token=1", ""])("keeps %s", (cookies) => {
  expect(withoutDashboardCookies(cookies) ?? "").toBe(cookies);
  expect(setsDashboardCookie(cookies)).toBe(false);
});
