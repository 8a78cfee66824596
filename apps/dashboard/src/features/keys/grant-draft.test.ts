import { expect, test } from "vitest";
import { type GrantKind, grantProblem, grantText } from "./grant-draft.ts";

const draft = (kind: GrantKind, service = "") => ({ id: 1, kind, database: "main", service });

test.each([
  ["access-database", "", "access:cloud://acme:main"],
  ["access-services", "", "access:cloud://acme:main/services"],
  ["access-service", "ingest", "access:cloud://acme:main/services/ingest"],
  ["access-service", "reports/ingest", "access:cloud://acme:main/services/reports/ingest"],
  ["manage-services", "", "manage:cloud://acme:main/services"],
  ["manage-service", "ingest", "manage:cloud://acme:main/services/ingest"],
] as const)("%s %s is %s, which the command takes", (kind, service, text) => {
  expect(grantText("acme", draft(kind, service))).toBe(text);
  expect(grantProblem("acme", draft(kind, service))).toBeUndefined();
});

test("a service whose name cannot be one is told so", () => {
  expect(grantProblem("acme", draft("access-service", "9lives"))).toContain("9lives");
});

test("a service that is yet to be named is no problem while it is typed", () => {
  expect(grantProblem("acme", draft("access-service"))).toBeUndefined();
});
