import { expect, test } from "vitest";
import { answerHeaders, flatAnswerHeaders } from "./forwarded-headers.ts";
import { ownCookies } from "./own-cookies.ts";

const HOST = "d0f3a.apps.example.com:8443";

test("a cookie for a parent domain becomes one of the host", () => {
  for (const above of ["apps.example.com", ".apps.example.com", "EXAMPLE.com", "com", "other.apps.example.com", ""]) {
    expect(ownCookies([`a=1; Path=/; Domain=${above}; Secure`], HOST), above).toEqual(["a=1; Path=/; Secure"]);
  }
  expect(ownCookies(["a=1;domain = example.com;DOMAIN=example.com"], HOST)).toEqual(["a=1"]);
});

test("other cookies stay unchanged", () => {
  const kept = [
    "a=1; Path=/",
    "domain=example.com; HttpOnly",
    "b=2; Domain=d0f3a.apps.example.com",
    "c; Domain=x.d0f3a.apps.example.com",
  ];
  expect(ownCookies(kept, HOST)).toEqual(kept);
});

test("a service cannot set cookies that the dashboard reads", () => {
  const set = [
    "a=1",
    "appdb.session_token=x; Path=/",
    "__Secure-appdb.session_token=x",
    "__Host-appdb.session_token=x",
  ];
  expect(ownCookies(set, HOST)).toEqual(["a=1"]);
});

test("a service can clear its own origin's data, but no cookies", () => {
  const exchange = { headers: {}, host: HOST };
  for (const all of ['"cookies"', '"*"', ' "Cookies" , "*"']) {
    expect(answerHeaders({ "clear-site-data": all }, exchange)).toEqual({});
    expect(flatAnswerHeaders(["Clear-Site-Data", all], exchange)).toEqual([]);
  }
  const some = '"cache", "cookies", "storage"';
  expect(answerHeaders({ "clear-site-data": some }, exchange)).toEqual({ "clear-site-data": '"cache", "storage"' });
  expect(flatAnswerHeaders(["Clear-Site-Data", some], exchange)).toEqual(["Clear-Site-Data", '"cache", "storage"']);
});
