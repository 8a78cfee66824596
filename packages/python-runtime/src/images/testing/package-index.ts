import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** A test package: its files by path, as a wheel or as a source that must be built. */
export interface TestPackage {
  readonly name: string;
  readonly version: string;
  readonly kind: "wheel" | "source";
  readonly files: Readonly<Record<string, string>>;
  /** A script of the package: `name = "module:function"`. */
  readonly script?: string;
}

/** Writes wheels and source archives with Python's standard library only. */
const WRITER = `import sys, json, zipfile, tarfile, io, hashlib, base64
folder, package = sys.argv[1], json.loads(sys.argv[2])
name, version = package["name"], package["version"]
meta = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n"
files = dict(package["files"])
if package["kind"] == "wheel":
    info = f"{name}-{version}.dist-info/"
    files[info + "METADATA"] = meta
    files[info + "WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    if package.get("script"):
        files[info + "entry_points.txt"] = "[console_scripts]\\n" + package["script"] + "\\n"
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text.encode())}\\n" for path, text in files.items())
    files[info + "RECORD"] = record + info + "RECORD,,\\n"
    path = f"{folder}/{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)
else:
    files["PKG-INFO"] = meta
    path = f"{folder}/{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for each, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{each}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
print(path)
`;

/**
 * A source package whose build first runs `code`, then makes a wheel of \`<name>.py\`. It is its own build backend and
 * needs no other package.
 */
export function sourceFiles(name: string, version: string, code: string): Record<string, string> {
  return {
    "pyproject.toml": `[project]\nname = "${name}"\nversion = "${version}"\n[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n`,
    [`${name}.py`]: "from_source = True\n",
    "backend.py": `import zipfile, os, sys
def build_wheel(folder, config_settings=None, metadata_directory=None):
    exec(CODE)
    info = "${name}-${version}.dist-info/"
    path = "${name}-${version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, path), "w") as archive:
        archive.write("${name}.py")
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: ${name}\\nVersion: ${version}\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "RECORD", "")
    return path
def build_sdist(folder, config_settings=None):
    raise NotImplementedError
CODE = ${JSON.stringify(code)}
`,
  };
}

/** Writes a package below a folder and returns its file's path. */
export function writePackage(python: string, folder: string, made: TestPackage): string {
  mkdirSync(folder, { recursive: true });
  return execFileSync(python, ["-c", WRITER, folder, JSON.stringify(made)], { encoding: "utf8" }).trim();
}

export interface PackageIndex extends AsyncDisposable {
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  /** Address of the index below it. */
  readonly url: string;
  /** Paths of all answered requests. */
  readonly asked: string[];
}

export interface PackageIndexOptions {
  /** `user:password` that each request must send. */
  readonly credentials?: string;
  /** Answers requests for any host. */
  readonly is_proxy?: boolean;
  /** Serves HTTPS with this certificate. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** Serves the packages of a folder as an index: `/simple/<name>/` and `/files/<file>`. */
export async function servePackages(folder: string, options: PackageIndexOptions = {}): Promise<PackageIndex> {
  const asked: string[] = [];
  const answer: RequestListener = (request, response) => {
    const { credentials } = options;
    const shown = `Basic ${Buffer.from(credentials ?? "").toString("base64")}`;
    if (credentials !== undefined && request.headers.authorization !== shown) {
      response.writeHead(401, { "www-authenticate": "Basic" }).end();
      return;
    }
    const { url = "" } = request;
    const path = options.is_proxy === true ? new URL(url).pathname : url;
    asked.push(path);
    serve(folder, path, response);
  };
  const { certificate } = options;
  const server = certificate === undefined ? createServer(answer) : createSecureServer(certificate, answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `${certificate === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  return {
    origin,
    url: `${origin}/simple`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serve(folder: string, path: string, response: ServerResponse): void {
  const [, kind, name = ""] = /^\/(simple|files)\/([\w.+-]+)\/?$/.exec(path) ?? [];
  const files = existsSync(folder) ? readdirSync(folder) : [];
  if (kind === "files" && files.includes(name)) {
    // same header as public indexes
    response.setHeader("cache-control", "max-age=31536000, immutable, public");
    response.end(readFileSync(join(folder, name)));
    return;
  }
  const own = files.filter((file) => file.startsWith(`${name.replaceAll("-", "_")}-`));
  if (kind !== "simple" || own.length === 0) {
    response.writeHead(404).end();
    return;
  }
  const links = own.map((file) => `<a href="/files/${file}#sha256=${digestOf(join(folder, file))}">${file}</a><br>`);
  response.setHeader("content-type", "text/html");
  response.end(`<!DOCTYPE html><html><body>${links.join("")}</body></html>`);
}

function digestOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
