import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { BuiltImage } from "@appdb/contract/control/image-documents";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { runProcessTask } from "@appdb/pods/driver/process-task";
import type { PodTask } from "@appdb/pods/driver/task-runner";
import { Secret } from "@appdb/system/secret";
import { locateTools } from "@appdb/system/tools/locate-tools";
import { createTenantDocuments } from "../../documents/tenant-documents.ts";
import { collectEnvironment } from "../../environments/collect-environment.ts";
import { hashEnvironment } from "../../environments/environment.ts";
import { createHostedImages, HOSTED_BUILDER, type HostedImagesOptions } from "../build-image.ts";
import { BUILD_LIMITS } from "../build-steps.ts";
import { createInterpreters, type Interpreters, type InterpretersOptions } from "../find-interpreter.ts";
import type { ImageBuilder } from "../image-builder.ts";
import { type PackageIndex, servePackages, type TestPackage, writePackage } from "./package-index.ts";

const tools = locateTools({ program_url: import.meta.url, postgres_bin: undefined });
const UV = tools.uv ?? "";
const PYTHON = tools.base_python ?? "";
const run = promisify(execFile);
/** System programs. */
export const PATH = "/usr/local/bin:/usr/bin:/bin";

export interface BuildProject {
  readonly files: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly python_version?: string;
  readonly system_packages?: readonly string[];
  readonly uv_options?: string;
  readonly org?: string;
  readonly is_forced?: boolean;
  readonly options?: Partial<HostedImagesOptions>;
  readonly builder?: ImageBuilder;
  readonly signal?: AbortSignal;
}

export interface TestImage extends BuiltImage {
  readonly folder: string;
}

/** A package index and a builder whose tasks are processes, in one folder, for tests of builds. */
export class TestBuilds implements AsyncDisposable {
  readonly folder: string;
  readonly index: PackageIndex;
  /** Output of builds. */
  readonly lines: string[] = [];
  /** Reasons why the shared cache could not be used. */
  readonly troubles: unknown[] = [];
  /** Tasks that builds ran. */
  readonly tasks: PodTask[] = [];

  constructor(folder: string, index: PackageIndex) {
    this.folder = folder;
    this.index = index;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.index[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Adds a package to the index, or to another folder of the builds. */
  publish(made: Partial<TestPackage> & Pick<TestPackage, "name">, where = "packages"): string {
    const version = made.version ?? "1.0";
    const files = { [`${made.name}.py`]: `version = "${version}"\n` };
    return writePackage(PYTHON, join(this.folder, where), { version, kind: "wheel", files, ...made });
  }

  builder(changes: Partial<HostedImagesOptions> = {}): ImageBuilder {
    const { tasks } = this;
    return createHostedImages({
      uv: UV,
      interpreters: this.interpreters(),
      documents: createTenantDocuments(),
      shared: null,
      unpackSystem: null,
      network_env: {},
      ca_file: undefined,
      allowed_hosts: [],
      limits: BUILD_LIMITS,
      now: () => new Date(),
      async runTask(task, signal) {
        tasks.push(task);
        return await runProcessTask(task, signal);
      },
      ...changes,
    });
  }

  /** Finds only Pythons of this installation. */
  interpreters(changes: Partial<InterpretersOptions> = {}): Interpreters {
    return createInterpreters({
      uv: UV,
      base_python: PYTHON,
      managed_folder: join(this.folder, "managed"),
      may_download: false,
      cache_folder: join(this.folder, "answers"),
      env: { PATH: "" },
      ...changes,
    });
  }

  /** Collects a project's environment and builds it as the given organization. */
  async build(project: BuildProject): Promise<TestImage> {
    const {
      files,
      org = "one",
      python_version: pythonVersion,
      secrets = {},
      system_packages: systemPackages,
      uv_options: uvOptions,
    } = project;
    const entries = Object.entries(files).map(([path, text]): TreeEntry => {
      const chunks = [createHash("sha256").update(text).digest("hex")];
      return { path, size: text.length, is_executable: false, chunks, link: null };
    });
    const read = async function* ({ path }: TreeEntry) {
      yield Buffer.from(files[path] ?? "");
    };
    const readText = async (path: string) => files[path];
    const environment = await collectEnvironment({
      entries,
      readText,
      python_version: pythonVersion,
      system_packages: systemPackages,
      uv_options: uvOptions,
    });
    const imageFolder = join(this.folder, "images", org, hashEnvironment(environment, HOSTED_BUILDER));
    const hidden = Object.entries(secrets).map(([name, value]) => [name, new Secret(value)] as const);
    const builder = project.builder ?? this.builder(project.options);
    const image = await builder.build(
      {
        image_folder: imageFolder,
        environment,
        labels: { organization_id: org, database_id: "db", kind: "database" },
        project: { entries, read },
        secrets: Object.fromEntries(hidden),
        cache_folder: join(this.folder, "caches", org),
        is_forced: project.is_forced ?? false,
        onLine: (line) => this.lines.push(line),
      },
      project.signal ?? new AbortController().signal,
    );
    return { ...image, folder: imageFolder };
  }

  /** A project with a lock against an index. */
  async locked(dependencies: readonly string[], more = "", where = this.index.url): Promise<Record<string, string>> {
    const project = mkdtempSync(join(this.folder, "lock-"));
    const about = `name = "thing"\nversion = "1"\nrequires-python = ">=3.11"`;
    const pyproject = `[project]\n${about}\ndependencies = ${JSON.stringify(dependencies)}\n${more}`;
    writeFileSync(join(project, "pyproject.toml"), pyproject);
    const env = { PATH, HOME: project, UV_CACHE_DIR: join(project, "cache"), UV_DEFAULT_INDEX: where };
    // this process serves the index
    await run(UV, ["lock", "--quiet", "--directory", project, "--python", PYTHON], { env });
    return { "pyproject.toml": pyproject, "uv.lock": readFileSync(join(project, "uv.lock"), "utf8") };
  }

  /** A project with requirements from the index. */
  requirements(...wanted: string[]): Record<string, string> {
    return { "requirements.txt": `--index-url ${this.index.url}\n${wanted.join("\n")}\n` };
  }

  /** Options of a builder that shares the index's packages among organizations. */
  shared(): Partial<HostedImagesOptions> {
    const index = { url: this.index.url, file_origins: [] };
    const onTrouble = (error: unknown) => this.troubles.push(error);
    return { shared: { folder: join(this.folder, "shared"), index, onTrouble } };
  }

  /** Entries of an organization's image folder. */
  left(org = "one"): string[] {
    const images = join(this.folder, "images", org);
    return existsSync(images) ? readdirSync(images) : [];
  }
}

/** @see TestBuilds */
export async function openTestBuilds(): Promise<TestBuilds> {
  const folder = mkdtempSync(join(tmpdir(), "appdb-builds-"));
  return new TestBuilds(folder, await servePackages(join(folder, "packages")));
}

/** Output of a line of code run by the image's Python. */
export function ask(image: Pick<TestImage, "folder">, code: string): string {
  const python = join(image.folder, "venv", "bin", "python");
  return execFileSync(python, ["-c", code], { encoding: "utf8", env: { PATH } }).trim();
}

/** Files of a package in a project folder. */
export function below(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));
}
