import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Logger } from "@appdb/engine/ports";
import { choosePodDriver } from "@appdb/pods/choose-driver";
import type { PodProgram } from "@appdb/pods/driver/local-driver";
import { readMajorVersion } from "@appdb/postgres/cluster/cluster";
import { ensureTemplate, templateFolder } from "@appdb/postgres/cluster/cluster-template";
import type { TenantDocuments } from "@appdb/python-runtime/documents/tenant-documents";
import { COLLECT_LIMITS, collectImages, removeImage } from "@appdb/python-runtime/images/collect-images";
import { readImage } from "@appdb/python-runtime/images/image-folder";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { materializeTree, openTree } from "../storage/materialize-tree.ts";
import { askHealth, askTrees, useTree } from "./ask-pod.ts";
import { askService, drainService, putKeys } from "./ask-service.ts";
import { imageFolder } from "./database-paths.ts";
import { findRuntime } from "./database-runtime.ts";
import type { HostRuntime } from "./host-runtime.ts";
import { isolationReason } from "./isolation.ts";
import { createLocalLayout } from "./local-layout.ts";
import { openBuilder } from "./open-builder.ts";
import { readApplicationByImage } from "./read-application-by-image.ts";
import { dropPodRole, ensurePodRole } from "./service-role.ts";

export interface OpenMachineDeps {
  readonly config: Pick<
    ServerConfig,
    "builds" | "database" | "export_private" | "gateway" | "home" | "pods" | "quotas" | "runtime_base"
  >;
  readonly log: Logger;
  readonly db: ControlDatabase;
  readonly blobs: BlobStore;
  readonly documents: TenantDocuments;
  /** Replaces the pod program that came with this server. */
  readonly pod_program?: PodProgram;
}

/** Opens the machine's facilities as configured. @throws postgres_failed, postgres_unsupported, pods_unavailable */
export async function openHostRuntime(deps: OpenMachineDeps): Promise<HostRuntime & AsyncDisposable> {
  const { blobs, config, db, documents, log } = deps;
  const { home, runtime_base: runtimeBase } = config;
  const tools = locateTools({ program_url: import.meta.url, postgres_bin: config.database.pg_bin });
  const postgresBin = requirePostgresBin(tools);
  const template_folder = templateFolder(join(home, SERVER_PATHS.template), await readMajorVersion(postgresBin));
  const paths = { home, runtime_base: runtimeBase };
  const layout = createLocalLayout({
    paths,
    pod_users: config.pods.users,
    template_folder,
    postgres_bin: postgresBin,
    findRuntime: ({ hash, org_id: orgId }) =>
      findRuntime({ home, tools }, hash === null ? undefined : imageFolder(home, orgId, hash)),
  });
  const input = {
    folder: join(home, SERVER_PATHS.pods),
    layout,
    program: deps.pod_program ?? findPodProgram(),
    users: config.pods.users,
    clock: { now: Date.now },
    log,
  };
  const standing = { is_root: process.getuid?.() === 0, isolated_because: await isolationReason(db, home) };
  const driver = await choosePodDriver(config.pods.driver, input, undefined, standing);
  log.info({ driver: driver.name }, "this driver runs the pods");
  const putTree: HostRuntime["materializeTree"] = async (
    { database_id: databaseId, digest, org_id: orgId },
    signal,
  ) => {
    const filesFolder = layout.folder({ kind: "project-trees", database_id: databaseId });
    await materializeTree({ db, blobs, config }, { org_id: orgId, digest, files_folder: filesFolder }, signal);
  };
  const reading = {
    documents,
    layout,
    paths,
    tasks: driver,
    findRuntime: layout.findRuntime,
    materializeTree: putTree,
  };
  const treeOf = (orgId: string, digest: string) => openTree({ db, blobs }, { org_id: orgId, digest });
  let template: Promise<void> | undefined;
  return {
    paths,
    driver,
    pod_users: config.pods.users,
    template_folder,
    postgres_bin: postgresBin,
    // the service accepts any body that the gateway accepts
    may_export_private: config.export_private,
    limits: { ...config.pods.limits, body_bytes: config.gateway.limits.body_bytes },
    ensureTemplate() {
      template ??= ensureTemplate(postgresBin, template_folder).finally(() => {
        template = undefined;
      });
      return template;
    },
    askHealth,
    askTrees,
    useTree,
    askService,
    drainService,
    putKeys,
    dropServiceRole: dropPodRole,
    ensureServiceRole: ensurePodRole,
    findRuntime: layout.findRuntime,
    readApplication: (input, onLine, signal) => readApplicationByImage(reading, input, onLine, signal),
    hasImage: async (orgId, hash) => readImage(imageFolder(home, orgId, hash)) !== undefined,
    ...openBuilder({ paths, tools, documents, driver, log, builds: config.builds, openTree: treeOf }),
    removeImage: (orgId, hash) => removeImage(imageFolder(home, orgId, hash)),
    collectImages: (use) =>
      collectImages(
        { images: join(home, SERVER_PATHS.images), caches: join(home, SERVER_PATHS.buildCaches) },
        use,
        { ...COLLECT_LIMITS, shared_cache_bytes: config.builds.shared_cache_bytes },
        new Date(),
      ),
    materializeTree: putTree,
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  };
}

/** In the bundle, pod.js is next to server.js. From source, it is the other app's entry, with the same loader. */
function findPodProgram(): PodProgram {
  const fromSource = import.meta.url.endsWith(".ts");
  const file = fileURLToPath(new URL(fromSource ? "../../../runtime/src/main.ts" : "./pod.js", import.meta.url));
  // resolved here, because a pod runs in another folder
  const loader = fromSource ? pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href : undefined;
  if (loader === undefined) return { file, node_options: [] };
  const checkout = resolve(fileURLToPath(new URL("../../../..", import.meta.url)));
  return { file, node_options: ["--conditions=source", "--import", loader], folders: [checkout] };
}
