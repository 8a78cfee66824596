import { expect, test } from "vitest";
import { createNameRoute } from "./read-traffic.ts";

const ROUTES = [
  "GET /a",
  "PUT /visits/{id}",
  "GET /files/{name}.{kind}/raw",
  "GET /{a}{b}",
  "GET /x/{a}/y/{b}",
  "GET /open{",
];

test.each([
  ["GET /a", "GET /a"],
  ["PUT /visits/7", "PUT /visits/{id}"],
  ["PUT /visits/{id}", "PUT /visits/{id}"],
  ["PUT /visits/", null],
  ["PUT /visits/7/8", null],
  ["GET /files/a.b.txt/raw", "GET /files/{name}.{kind}/raw"],
  ["GET /files/a./raw", null],
  ["GET /files/.b/raw", null],
  ["GET /ab", "GET /{a}{b}"],
  ["GET /b", null],
  ["GET /x/1/y/2", "GET /x/{a}/y/{b}"],
  ["GET /x/1/2/y/3", null],
  ["GET /open{", "GET /open{"],
  ["GET /open", "GET /{a}{b}"],
  ["DELETE /a", null],
])("%s is a request for %s", (label, route) => {
  expect(createNameRoute(ROUTES)(label)).toBe(route);
});

test.each([
  ["many adjacent parameters", `GET /${"{a}".repeat(1_000)}x`, `GET /${"a".repeat(16_000)}/`],
  ["many parameters between letters", `GET /${"{a}a".repeat(1_000)}x`, `GET /${"a".repeat(16_000)}y`],
  ["unclosed parameters", `GET /${"{".repeat(1_000_000)}`, "GET /x"],
])("matching a route with %s takes less than the test's time limit", (_what, route, label) => {
  expect(createNameRoute([route])(label)).toBeNull();
});
