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
] as const)("%s %s is %s, which the CLI accepts", (kind, service, text) => {
  expect(grantText("acme", draft(kind, service))).toBe(text);
  expect(grantProblem("acme", draft(kind, service))).toBeUndefined();
});

test("an invalid service name is a problem", () => {
  expect(grantProblem("acme", draft("access-service", "9lives"))).toContain("9lives");
});

test("an empty service name is not a problem while the form is filled in", () => {
  expect(grantProblem("acme", draft("access-service"))).toBeUndefined();
});
