import { expect, test } from "vitest";
import { type LogFilter, wantsLine } from "./read-service-log.ts";

const ALL: LogFilter = { search: undefined, route: undefined, request_id: undefined, has_health: true };
const ANSWERED = 'request {"req":"r1","method":"POST","route":"/docs/:id","status":200,"ms":3,"key":"ci"}';
const HEALTH = 'request {"req":"r2","method":"GET","route":"/health","status":200,"ms":0,"health":true}';

test.each<[string, Partial<LogFilter>, string, boolean]>([
  ["all lines pass without a filter", {}, HEALTH, true],
  ["health checks are hidden", { has_health: false }, HEALTH, false],
  ["health checks are shown if their route is requested", { has_health: false, route: "/health" }, HEALTH, true],
  ["a print is not a health check", { has_health: false }, "hello {not json}", true],
  ["a text is found in any case", { search: "post" }, ANSWERED, true],
  ["a missing text is not found", { search: "delete" }, ANSWERED, false],
  ["a route is found by its whole path", { route: "/docs/{id}" }, ANSWERED, true],
  ["a route is not found by part of its path", { route: "/docs" }, ANSWERED, false],
  ["a request is found by its id", { request_id: "r1" }, ANSWERED, true],
  ["another request is not found", { request_id: "r" }, ANSWERED, false],
  ["a line without a request is not found", { request_id: "r1" }, "service listens", false],
])("%s", (_name, filter, line, isWanted) => {
  expect(wantsLine(line, { ...ALL, ...filter })).toBe(isWanted);
});
