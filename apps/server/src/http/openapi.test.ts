import { CONTROL_ROUTES } from "@appdb/contract/routes/control-paths";
import { expect, test } from "vitest";
import { AUTH_BODIES } from "../identity/auth-bodies.ts";
import { writeOpenapi } from "./openapi.ts";

// biome-ignore lint/suspicious/noExplicitAny: the test reads arbitrary members of the document
const document: any = writeOpenapi("http://127.0.0.1:1", AUTH_BODIES);

test("contains every route of the contract once", () => {
  const ids = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(Object.keys(CONTROL_ROUTES)));
  expect(ids).toContain("deviceCode");
});

test("has no dangling references, and keeps what programs need", () => {
  const text = JSON.stringify(document);
  const refs = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref]) => ref ?? "");
  expect(refs.length).toBeGreaterThan(20);
  for (const ref of refs) {
    expect(ref).toMatch(/^#\/components\/schemas\//);
    expect(document.components.schemas).toHaveProperty(ref.slice("#/components/schemas/".length));
  }
  expect(text).not.toContain("$defs");
  const { Org } = document.components.schemas;
  expect(Object.keys(Org.properties)).toEqual(expect.arrayContaining(["id", "name", "etag"]));
});

test("describes input, answers and permission of an operation", () => {
  const { post } = document.paths["/v1/orgs/{org}/invitations"];
  expect(post).toMatchObject({
    operationId: "invitationCreate",
    description: "Needs the permission member.invite: owner, admin.",
    requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/InvitationCreate" } } } },
    responses: {
      201: { content: { "application/json": { schema: { $ref: "#/components/schemas/CreatedInvitation" } } } },
    },
  });
  expect(post.parameters.map(({ name }: { name: string }) => name)).toEqual(["org", "Idempotency-Key"]);
  expect(document.paths["/v1/service"].get.security).toEqual([]);
  expect(document.paths["/v1/orgs/{org}/blobs"].put.requestBody.content).toHaveProperty("application/x-tar");
  expect(document.paths["/v1/orgs/{org}/operations/{id}/log"].get.responses[200].content).toHaveProperty(
    "application/x-ndjson",
  );
});
