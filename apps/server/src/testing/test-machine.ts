import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { POD_USERS } from "@appdb/pods/driver/pod-users";
import { createFakePods, type FakePods } from "@appdb/testkit/fake-pod-driver";
import { aManifest } from "@appdb/testkit/manifest-builder";
import { imageFolder } from "../pods/database-paths.ts";
import type { FoundRuntime } from "../pods/database-runtime.ts";
import type { HostRuntime } from "../pods/host-runtime.ts";
import { createLocalLayout, type ImageName } from "../pods/local-layout.ts";
import { podUnreachable } from "../pods/pod-client.ts";

/** The result of the following builds. */
export interface TestBuild {
  readonly outcome: "succeeds" | "fails" | "hangs" | "breaks";
  readonly lines?: readonly string[];
}

/** A machine whose pods and images are files below a folder, shared by several processes that tests may kill. */
export interface TestMachine extends HostRuntime {
  readonly pods: FakePods;
  build(build: TestBuild): void;
  /** Ids of services with a role. */
  roles(): string[];
  /** The number of started builds. */
  builds(): number;
}

export function createTestMachine(home: string): TestMachine {
  // socket folders inside the home, so that they are removed with it
  const runtimeBase = join(home, "run");
  mkdirSync(runtimeBase, { recursive: true });
  const paths = { home, runtime_base: runtimeBase };
  const installed = { template_folder: join(home, "template"), postgres_bin: "/nowhere/bin" };
  const findRuntime = async ({ hash, org_id: orgId }: ImageName): Promise<FoundRuntime> => {
    const image = hash === null ? "/usr" : imageFolder(home, orgId, hash);
    const runtime = { python: join(image, "bin/python3"), python_source: "test", library_paths: [] };
    return { runtime, env: {}, folders: [] };
  };
  const layout = createLocalLayout({ ...installed, paths, pod_users: POD_USERS, findRuntime });
  const pods = createFakePods(join(home, "pods"), layout);
  const buildFile = join(home, "build.json");
  const roleFolder = join(home, "roles");
  const countFile = join(home, "builds");
  const count = () => (existsSync(countFile) ? Number(readFileSync(countFile, "utf8")) : 0);
  return {
    pods,
    driver: pods.driver,
    pod_users: POD_USERS,
    limits: DEFAULT_LIMITS,
    may_export_private: false,
    askHealth: pods.askHealth,
    askTrees: async () => [],
    useTree: async () => true,
    askService: pods.askService,
    drainService: pods.drainService,
    putKeys: pods.putKeys,
    async ensureServiceRole({ uri, ...address }, serviceId) {
      if ((await pods.askHealth(address)) === undefined) throw podUnreachable(uri);
      mkdirSync(roleFolder, { recursive: true });
      writeFileSync(join(roleFolder, serviceId), "");
    },
    async dropServiceRole({ uri, ...address }, serviceId) {
      if ((await pods.askHealth(address)) === undefined) throw podUnreachable(uri);
      rmSync(join(roleFolder, serviceId), { force: true });
    },
    roles: () => (existsSync(roleFolder) ? readdirSync(roleFolder) : []),
    paths,
    ...installed,
    ensureTemplate: async () => undefined,
    findRuntime: layout.findRuntime,
    hasImage: async (orgId, hash) => existsSync(imageFolder(home, orgId, hash)),
    checkEnvironment: async () => undefined,
    async buildImage(input, onLine, signal) {
      writeFileSync(countFile, String(count() + 1));
      const told = (existsSync(buildFile) ? JSON.parse(readFileSync(buildFile, "utf8")) : {}) as Partial<TestBuild>;
      for (const line of told.lines ?? ["Resolved 1 package"]) onLine(line);
      if (told.outcome === "hangs") await sleep(60_000, undefined, { signal });
      if (told.outcome === "breaks") throw new Error("an internal error that contains a secret");
      if (told.outcome === "fails") {
        throw appError("build_failed", {
          detail: "The image could not be built: there is no package nosuch.",
          hint: "Run: cli db update <db_uri>",
        });
      }
      mkdirSync(imageFolder(home, input.org_id, input.hash), { recursive: true });
      return { python: "3.12.8", packages: [{ name: "six", version: "1.17.0" }], bytes: 1_000, files: 10 };
    },
    async readApplication({ app_file: appFile }, onLine) {
      onLine(`read ${appFile}`);
      return aManifest();
    },
    removeImage: async (orgId, hash) => rmSync(imageFolder(home, orgId, hash), { recursive: true, force: true }),
    collectImages: async () => 0,
    async materializeTree({ database_id: databaseId, digest }) {
      mkdirSync(layout.folder({ kind: "project-tree", database_id: databaseId, digest }), { recursive: true });
    },
    build: (build) => writeFileSync(buildFile, JSON.stringify(build)),
    builds: count,
  };
}
