import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { appError } from "@appdb/contract/errors";

/** Programs of an installation. Undefined for a missing one; code that needs it reports that. */
export interface Tools {
  /** Folder with `postgres` and `initdb`. */
  readonly postgres_bin: string | undefined;
  readonly uv: string | undefined;
  /** The Python of the installation. */
  readonly base_python: string | undefined;
  /** Folder for PYTHONPATH that provides `import appdb`. */
  readonly library: string | undefined;
  /** site-packages of the installation's Python, with msgpack. */
  readonly site_packages: string | undefined;
}

export interface LocateInput {
  /** `import.meta.url` of the running program. */
  readonly program_url: string;
  /** SERVICE_PG_BIN: folder of another PostgreSQL. */
  readonly postgres_bin: string | undefined;
}

/**
 * Finds the tools of this installation by searching upwards from the program: a checkout (`.tools` and `python/` next
 * to `package.json`) or a wheel (the bundle inside the `appdb` package of a virtual environment). Starts no process.
 */
export function locateTools(input: LocateInput): Tools {
  const start = dirname(fileURLToPath(input.program_url));
  const found = findCheckout(start) ?? findWheel(start);
  return {
    postgres_bin: input.postgres_bin ?? postgresBin(found?.site_packages),
    uv: found?.uv,
    base_python: found?.python,
    library: found?.library,
    site_packages: found?.site_packages,
  };
}

/** Folder of PostgreSQL's programs. @throws postgres_failed when the installation has none */
export function requirePostgresBin(tools: Tools): string {
  const bin = tools.postgres_bin;
  if (bin === undefined) {
    throw appError("postgres_failed", {
      detail: "This installation has no PostgreSQL.",
      hint: "Install it with pip install 'appdb[serve]', or set SERVICE_LOCAL_DATABASE_URL to a PostgreSQL 18 with pgvector.",
    });
  }
  if (firstExisting(["postgres", "postgres.exe"].map((name) => join(bin, name))) === undefined) {
    throw appError("postgres_failed", {
      detail: `No postgres program in ${bin}.`,
      hint: "Set SERVICE_PG_BIN to the bin folder of PostgreSQL 18, or unset it.",
    });
  }
  return bin;
}

interface Installation {
  /** Undefined when the Python of the environment is gone or not executable for us. */
  readonly python: string | undefined;
  readonly uv: string | undefined;
  readonly library: string;
  readonly site_packages: string;
}

function findCheckout(start: string): Installation | undefined {
  for (const folder of upwards(start)) {
    const environment = existsSync(join(folder, "package.json")) ? readEnvironment(join(folder, ".tools")) : undefined;
    if (environment !== undefined) return { ...environment, library: join(folder, "python") };
  }
  return undefined;
}

function findWheel(start: string): Installation | undefined {
  for (const folder of upwards(start)) {
    const parent = dirname(folder);
    if (!/^(site|dist)-packages$/.test(parent.split(/[\\/]/).at(-1) ?? "")) continue;
    // Linux and macOS: <environment>/lib/pythonX.Y/site-packages; Windows: <environment>\Lib\site-packages, also for a
    // base Python
    const roots = [join(parent, "..", "..", ".."), join(parent, "..", "..")];
    const root = roots.find((candidate) => firstExisting(pythonsOf(candidate)) !== undefined);
    if (root === undefined) continue;
    return {
      python: firstExisting(pythonsOf(root)),
      uv: firstExisting(uvsOf(root)),
      library: parent,
      site_packages: parent,
    };
  }
  return undefined;
}

function readEnvironment(root: string): Omit<Installation, "library"> | undefined {
  const lib = join(root, "lib");
  const versions = existsSync(lib) ? readdirSync(lib).filter((name) => name.startsWith("python")) : [];
  const sitePackages = firstExisting([
    ...versions.map((version) => join(lib, version, "site-packages")),
    join(root, "Lib", "site-packages"),
  ]);
  return sitePackages === undefined
    ? undefined
    : { python: firstExisting(pythonsOf(root)), uv: firstExisting(uvsOf(root)), site_packages: sitePackages };
}

function uvsOf(root: string): string[] {
  return ["bin/uv", "Scripts/uv.exe"].map((name) => join(root, name));
}

function pythonsOf(root: string): string[] {
  const names = ["bin/python3", "bin/python", "Scripts/python.exe", "python.exe"];
  return names.map((name) => join(root, name));
}

function postgresBin(sitePackages: string | undefined): string | undefined {
  return sitePackages === undefined
    ? undefined
    : firstExisting([join(sitePackages, "embedded_postgres", "pginstall", "bin")]);
}

function firstExisting(paths: readonly (string | undefined)[]): string | undefined {
  return paths.find((path) => path !== undefined && existsSync(path));
}

function* upwards(start: string): Generator<string> {
  for (let folder = start; ; folder = dirname(folder)) {
    yield folder;
    if (dirname(folder) === folder) return;
  }
}
