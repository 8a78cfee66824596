import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKeyText } from "@appdb/contract/control/key-text";
import { manifestSchema } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { hashKey } from "@appdb/system/keys/key-hash";
import { type SnapshotKey, signSnapshot } from "@appdb/system/keys/key-snapshot";
import type { PodHarness } from "./pod-harness.ts";
import { askSocket, openStartedPods, type PodAnswer, type StartedPod } from "./started-pods.ts";

export interface StartedService extends StartedPod {
  /** Calls one of its routes. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<PodAnswer>;
}

/** A key with its text. */
export interface TestKey {
  readonly text: string;
  readonly entry: SnapshotKey;
}

/** Real service pods of a harness's database. For tests only. */
export interface ServicePodHarness extends AsyncDisposable {
  readonly log_folder: string;
  /** Creates a key. */
  key(id: string, grants: readonly string[]): TestKey;
  /** A snapshot of the keys as the control plane would sign it. */
  snapshot(version: number, keys: readonly TestKey[]): string;
  /** Spec of the service `ingest` of `files`, which the database pod has read. */
  spec(database: StartedPod, files: string, keys: readonly TestKey[]): Promise<ServicePodSpec>;
  start(spec: ServicePodSpec): StartedService;
}

/** Opens a harness next to that of the database. */
export function openServicePodHarness(database: PodHarness): ServicePodHarness {
  const runFolder = mkdtempSync(join(tmpdir(), "svc-"));
  const logFolder = join(database.folder, "service-log");
  const pods = openStartedPods();
  const pair = generateKeyPairSync("ed25519");
  const snapshot: ServicePodHarness["snapshot"] = (version, keys) =>
    signSnapshot(
      { organization: "acme", database: "main", version, issued_ms: Date.now(), keys: keys.map(({ entry }) => entry) },
      pair.privateKey,
    );
  return {
    log_folder: logFolder,
    snapshot,
    key(id, grants) {
      const text = writeKeyText({ id, secret: randomBytes(32).toString("base64url") });
      const hashes = [{ hash: hashKey(text), until_ms: null }];
      return { text, entry: { id, name: `key ${id}`, hashes, grants, role: null, expires_ms: null } };
    },
    async spec(pod, files, keys) {
      const { resources, runtime, files_folder: filesFolder } = await database.spec();
      const role = await pod.ask("POST", "/v1/service-roles", { role: "svc_0123456789ab" });
      const read = await pod.ask("POST", "/v1/manifest", { app_file: "app.py", files });
      return {
        role: "service-pod",
        service_id: "0190a0a0-0000-7000-8000-00000000000a",
        instance: 1,
        database_id: "0190a0a0-0000-7000-8000-000000000000",
        organization: "acme",
        database: "main",
        service: "ingest",
        uri: "cloud://acme:main/ingest",
        token: randomBytes(24).toString("base64url"),
        dsn: role.json<{ dsn: string }>().dsn,
        scratch_folder: join(database.folder, "scratch"),
        run_folder: runFolder,
        log_folder: logFolder,
        resources,
        limits: DEFAULT_LIMITS,
        may_export_private: false,
        media: localMediaPlace(join(database.folder, "media"), {}),
        manifest: manifestSchema.parse(read.json<{ manifest: unknown }>().manifest),
        runtime: { ...runtime, project_root: join(filesFolder, files) },
        keys: {
          public_key: pair.publicKey.export({ format: "der", type: "spki" }).toString("base64"),
          snapshot: snapshot(1, keys),
        },
        notices: [],
      };
    },
    start(spec) {
      const pod = pods.start({ role: "service-pod", run_folder: spec.run_folder, token: spec.token, input: spec });
      const socket = join(spec.run_folder, "http.sock");
      return { ...pod, call: (method, path, body, headers = {}) => askSocket(socket, headers, method, path, body) };
    },
    [Symbol.asyncDispose]: async () => {
      await pods[Symbol.asyncDispose]();
      rmSync(runFolder, { recursive: true, force: true });
    },
  };
}
