import { expect, test } from "vitest";
import { findShadowed } from "./shadowed-paths.ts";

const route = (text: string) => {
  const [method, path = ""] = text.split(" ");
  return { method: method as "GET", path };
};

test.each([
  [["GET /items/first", "GET /items/{id}"], []],
  [
    ["GET /items/first", "PUT /items/{id}", "DELETE /items/{id}"],
    ["PUT /items/first", "DELETE /items/first"],
  ],
  [["POST /items/search", "GET /items/{id}"], ["GET /items/search"]],
  [["GET /items/first", "PUT /items/{id}/parts", "PUT /{kind}"], []],
  [["GET /a/b", "PUT /{x}/{y}", "PUT /a/{y}"], ["PUT /a/b"]],
  [["GET /items", "ANY /*"], []],
])("of %j the methods %j are not routed", (routes, shadowed) => {
  expect(findShadowed(routes.map(route)).map(({ method, path }) => `${method} ${path}`)).toEqual(shadowed);
});
