import { spawn } from "node:child_process";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";

/**
 * Servers that speak the protocols of object stores, for contract tests. `scripts/object-stores.mjs` installs them once a
 * machine. Without them the tests are skipped and say so; with STORES=required, which .ci/run sets, they fail.
 */
export type ObjectStoreName = "s3" | "gcs" | "azure";

export const STORES_FOLDER = process.env.APPDB_OBJECT_STORES ?? join(homedir(), ".cache", "appdb-object-stores");

const PROGRAMS: Readonly<Record<ObjectStoreName, string>> = {
  s3: join(STORES_FOLDER, "bin", "versitygw"),
  gcs: join(STORES_FOLDER, "bin", "fake-gcs-server"),
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

/** Why a store cannot be started here; undefined when it can. */
export function whyNoStore(name: ObjectStoreName): string | undefined {
  if (existsSync(PROGRAMS[name]) || process.env.STORES === "required") return undefined;
  const why = `there is no ${PROGRAMS[name]}; node scripts/object-stores.mjs installs it`;
  process.stderr.write(`\nSKIPPED: ${why}, so the ${name} store was not tested.\n\n`);
  return why;
}

/** Starts a server with one empty bucket; it ends with this process at the latest. */
export async function startObjectStore(name: ObjectStoreName): Promise<ObjectStore> {
  const folder = mkdtempSync(join(tmpdir(), `appdb-${name}-`));
  const port = await findFreePort();
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
  gcs(folder, port) {
    const objects = join(folder, "objects");
    mkdirSync(join(objects, BUCKET), { recursive: true });
    const endpoint = `http://127.0.0.1:${port}`;
    const place = ["-host", "127.0.0.1", "-port", `${port}`, "-public-host", `127.0.0.1:${port}`];
    const files = ["-backend", "filesystem", "-filesystem-root", objects];
    return {
      args: [PROGRAMS.gcs, "-scheme", "http", ...place, ...files, "-external-url", endpoint],
      environment: { STORAGE_EMULATOR_HOST: endpoint, GOOGLE_CREDENTIALS: makeGoogleKey() },
      address: `gs://${BUCKET}`,
      ready: async () => {
        const { ok } = await fetch(`${endpoint}/storage/v1/b/${BUCKET}`);
        if (!ok) throw new Error("no bucket yet");
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

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}
