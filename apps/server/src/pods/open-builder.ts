import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import type { Logger } from "@appdb/engine/ports";
import type { LocalDriver } from "@appdb/pods/driver/local-driver";
import type { TenantDocuments } from "@appdb/python-runtime/documents/tenant-documents";
import { createHostedImages, type SharedPackages } from "@appdb/python-runtime/images/build-image";
import { BUILD_LIMITS } from "@appdb/python-runtime/images/build-steps";
import { createInterpreters } from "@appdb/python-runtime/images/find-interpreter";
import { SHARED_CACHE } from "@appdb/python-runtime/images/image-folder";
import type { ProjectFiles } from "@appdb/python-runtime/images/project-files";
import { createSystemPackages } from "@appdb/python-runtime/images/system-packages";
import type { Tools } from "@appdb/system/tools/locate-tools";
import { SERVER_PATHS } from "../config/config.ts";
import type { BuildsConfig } from "../config/config-builds.ts";
import { imageFolder, type PodServerPaths } from "./database-paths.ts";
import type { HostRuntime } from "./host-runtime.ts";

/** Search path of interpreters. */
const PATH = "/usr/local/bin:/usr/bin:/bin";
/** The machine's packages, which exist in the sandboxes of images. */
const DPKG_STATUS = "/var/lib/dpkg/status";
const APT = "apt";

export interface OpenBuilderDeps {
  readonly paths: PodServerPaths;
  readonly tools: Tools;
  readonly builds: BuildsConfig;
  readonly driver: Pick<LocalDriver, "isolates" | "run">;
  readonly log: Logger;
  readonly documents: TenantDocuments;
  /** The files of a tree that the organization uploaded. @throws blobs_missing, tree_invalid */
  openTree(orgId: string, digest: string): Promise<ProjectFiles>;
}

/** Creates the builder of this machine's images, which runs in tasks of the pod driver. */
export function openBuilder(deps: OpenBuilderDeps): Pick<HostRuntime, "buildImage" | "checkEnvironment"> {
  const { builds, documents, driver, paths, tools } = deps;
  const { uv } = tools;
  if (uv === undefined) {
    const refuse = async () => Promise.reject(uvMissing());
    return { buildImage: refuse, checkEnvironment: refuse };
  }
  const {
    allowed_hosts: allowedHosts,
    ca_file: caFile,
    may_download_python: mayDownloadPython,
    network_env: networkEnv,
  } = builds;
  const caches = join(paths.home, SERVER_PATHS.buildCaches);
  const builder = createHostedImages({
    uv,
    allowed_hosts: allowedHosts,
    ca_file: caFile,
    documents,
    network_env: networkEnv,
    limits: BUILD_LIMITS,
    interpreters: createInterpreters({
      uv,
      base_python: tools.base_python,
      may_download: mayDownloadPython,
      managed_folder: join(paths.home, SERVER_PATHS.pythons),
      cache_folder: join(paths.home, HOME_PATHS.pythons),
      env: { ...networkEnv, ...(caFile === undefined ? {} : { SSL_CERT_FILE: caFile }), PATH },
    }),
    shared: openShared(deps, join(caches, SHARED_CACHE)),
    unpackSystem: driver.isolates ? createSystemPackages(systemPackages(paths, networkEnv)) : null,
    now: () => new Date(),
    runTask: (task, signal) => driver.run(task, signal),
  });
  const buildImage: HostRuntime["buildImage"] = async (input, onLine, signal) => {
    const {
      database_id: databaseId,
      environment,
      hash,
      is_forced: isForced,
      max_bytes: maxBytes,
      org_id: orgId,
      secrets,
      tree,
    } = input;
    await mkdir(join(paths.home, SERVER_PATHS.images, orgId), { recursive: true, mode: 0o711 });
    return await builder.build(
      {
        environment,
        is_forced: isForced,
        max_bytes: maxBytes,
        onLine,
        secrets: Object.fromEntries(secrets),
        image_folder: imageFolder(paths.home, orgId, hash),
        labels: { organization_id: orgId, database_id: databaseId, kind: "database" },
        project: tree === null ? null : await deps.openTree(orgId, tree),
        cache_folder: join(caches, orgId),
      },
      signal,
    );
  };
  return {
    buildImage,
    checkEnvironment: (environment, organizationId) => builder.check(environment, organizationId),
  };
}

/** The shared cache has its own user if organizations are isolated; otherwise there is only one user. */
function openShared({ builds, driver, log }: OpenBuilderDeps, folder: string): SharedPackages | null {
  const { shared_index: index } = builds;
  if (index === null || !driver.isolates) return null;
  const onTrouble = (error: unknown) => log.warn({ err: error }, "the shared packages could not be used");
  return { folder, index, onTrouble };
}

function systemPackages({ home }: PodServerPaths, networkEnv: BuildsConfig["network_env"]) {
  const stateFolder = join(home, SERVER_PATHS.buildCaches, APT);
  return {
    state_folder: stateFolder,
    status_file: DPKG_STATUS,
    disk_bytes: BUILD_LIMITS.disk_bytes,
    network_env: networkEnv,
  };
}

function uvMissing(): Error {
  return appError("build_failed", {
    detail: "This server has no uv, which builds images.",
    hint: "The operator installs it with the server: pip install 'appdb[serve]'",
  });
}
