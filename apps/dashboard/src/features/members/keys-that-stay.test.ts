import { expect, test } from "vitest";
import { keysThatStay } from "./keys-that-stay.ts";

test("keys with grants of the removed person stay", () => {
  const grants = ["access:cloud://acme:main"];
  const keys = [
    { name: "laptop", grants: [], created_by: "bob@example.com" },
    { name: "robot", grants, created_by: "bob@example.com" },
    { name: "other", grants, created_by: "ann@example.com" },
    { name: "old", grants, created_by: null },
  ];
  expect(keysThatStay(keys, "bob@example.com")).toEqual(["robot"]);
});
