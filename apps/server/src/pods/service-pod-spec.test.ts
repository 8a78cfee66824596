import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { Secret } from "@appdb/system/secret";
import { aManifest } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { servicePodSpec } from "./service-pod-spec.ts";

test("an instance gets the operator's limits, its release's workers and its database's memory", () => {
  const spec = servicePodSpec({
    service: { id: "s", name: "desk", uri: "cloud://acme:main/desk", instance: 1 },
    database: { id: "d", org_id: "o", organization: "acme", name: "main" },
    shared: {
      resources: { cpu: 1, memory_mb: 1_024, disk_gb: 1, workers: 1 },
      settings: {
        sleep_after: "",
        wake_on_request: false,
        vars: {},
        db_input_media_dest: null,
        db_output_media_dest: null,
        db_media_sources: ["s3://given/in"],
      },
    },
    release: {
      manifest: aManifest(),
      workers: 3,
      tree: "t1",
      environment: "e1",
    },
    target: ({ kind }) => `/${kind}`,
    token: new Secret("t"),
    has_bucket: true,
    database_token: new Secret("d"),
    limits: { ...DEFAULT_LIMITS, statement_timeout_ms: 1_234, route_requests: 5, workers: 9 },
    dsn: "postgresql:///",
    keys: { public_key: "", snapshot: "" },
    may_export_private: true,
    secrets: new Map(),
    runtime: { python: "/usr/bin/python3", python_source: "test", library_paths: [] },
    runtime_env: {},
  });
  const { limits, media, runtime } = JSON.parse(spec.input.reveal()) as ServicePodSpec;
  const { image, volumes } = spec;
  expect([image, volumes.find(({ name }) => name === "tree")]).toEqual([
    "e1",
    {
      name: "tree",
      source: { kind: "project-tree", database_id: "d", digest: "t1" },
      target: runtime.project_root,
      access: "code",
    },
  ]);
  expect(volumes.find(({ name }) => name === "media")).toEqual({
    name: "media",
    source: { kind: "media", database_id: "d" },
    target: media.folder,
    access: "write",
    code_parts: [
      { name: "home", access: "read" },
      { name: "cache", access: "read" },
      { name: "scratch", access: "write" },
    ],
  });
  expect(volumes.find(({ name }) => name === "objects")).toEqual({
    name: "objects",
    source: { kind: "objects", database_id: "d" },
    target: "/objects",
    access: "read",
  });
  expect(media).toEqual({
    folder: "/media",
    input: "home",
    output: "home",
    sources: ["s3://given/in"],
    home_address: "mediafs://acme:main/home",
    objects: { socket: "/objects/objects.sock", token: expect.stringMatching(/^[\w-]{43}$/) },
    scratch_bytes: 1024 ** 3 / 4,
    may_reach_private: false,
  });
  expect(limits).toMatchObject({ statement_timeout_ms: 1_234, route_requests: 5, workers: 3 });
  expect(limits.worker_memory_mb).toBeGreaterThan(64);
});
