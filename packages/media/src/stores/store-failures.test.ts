import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AppError } from "@appdb/contract/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bytesContent } from "./content.ts";
import { isCloud, parseStoreAddress } from "./media-address.ts";
import { openStore } from "./open-store.ts";

/** How a cloud answers: its status, and what it calls the failure. */
interface Refusal {
  readonly status: number;
  readonly code: string;
}

interface Cloud {
  readonly address: string;
  readonly secrets: RegExp;
  /** The first line of a put, and who signed it. */
  readonly request: RegExp;
  environment(url: string): Readonly<Record<string, string>>;
  send(res: ServerResponse, refusal: Refusal): void;
  /** How each failure arrives, with the code that it must have. */
  readonly failures: Readonly<Record<string, readonly [refusal: Refusal, code: string]>>;
}

const HIDDEN = "aHVzaC1odXNoLWh1c2gtaHVzaC1odXNoLWh1c2gtaHVzaA==";
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const denied = (status: number, code: string) => [{ status, code }, "media_denied"] as const;

const CLOUDS: Readonly<Record<string, Cloud>> = {
  s3: {
    address: "s3://media/files",
    request: /^PUT \/media\/files\/key\S* AWS4-HMAC-SHA256 Credential=tester\//,
    secrets: /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    environment: (url) => ({ AWS_ACCESS_KEY_ID: "tester", AWS_SECRET_ACCESS_KEY: HIDDEN, AWS_ENDPOINT_URL: url }),
    send(res, { code, status }) {
      res.writeHead(status, { "content-type": "application/xml" });
      res.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused</Message></Error>`);
    },
    failures: {
      "a wrong key": denied(403, "InvalidAccessKeyId"),
      "a wrong secret": denied(403, "SignatureDoesNotMatch"),
      "an expired token": denied(400, "ExpiredToken"),
      "a missing right": denied(403, "AccessDenied"),
      "a wrong clock": denied(403, "RequestTimeTooSkewed"),
      "a bucket that is gone": [{ status: 404, code: "NoSuchBucket" }, "media_store_not_found"],
      "a full store": [{ status: 507, code: "XMinioStorageFull" }, "media_store_full"],
      "a full store of another kind": [{ status: 507, code: "InsufficientStorage" }, "media_store_full"],
      "a failed store": [{ status: 500, code: "InternalError" }, "media_unavailable"],
    },
  },
  gcs: {
    address: "gs://media/files",
    // an emulator gets no token
    request: /^POST \/upload\/storage\/v1\/b\/media\/o\?\S*name=files%2Fkey/,
    secrets: /secret GOOGLE_CREDENTIALS/,
    environment: (url) => ({
      STORAGE_EMULATOR_HOST: url,
      GOOGLE_CREDENTIALS: JSON.stringify({
        type: "service_account",
        project_id: "test",
        client_email: "a@test.example",
        private_key_id: HIDDEN,
        private_key: privateKey,
      }),
    }),
    send(res, { code, status }) {
      const error = { code: status, message: code, errors: [{ reason: code, message: code }] };
      res.writeHead(status, { "content-type": "application/json" });
      res.end(JSON.stringify({ error }));
    },
    failures: {
      "a wrong key": denied(401, "Invalid Credentials"),
      "a missing right": denied(403, "forbidden"),
      "a bucket that is gone": [{ status: 404, code: "notFound" }, "media_store_not_found"],
      "a full store": [{ status: 403, code: "quotaExceeded" }, "media_store_full"],
      "a failed store": [{ status: 500, code: "backendError" }, "media_unavailable"],
    },
  },
  azure: {
    address: "wasbs://media@devaccount.blob.core.windows.net/files",
    request: /^PUT \/devaccount\/media\/files\/key\S* SharedKey devaccount:/,
    secrets: /secret AZURE_STORAGE_CONNECTION_STRING/,
    environment: (url) => ({
      AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=http;AccountName=devaccount;AccountKey=${HIDDEN};BlobEndpoint=${url}/devaccount;`,
    }),
    send(res, { code, status }) {
      res.writeHead(status, { "content-type": "application/xml", "x-ms-error-code": code });
      res.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused</Message></Error>`);
    },
    failures: {
      "a wrong key, an expired token or a wrong clock": denied(403, "AuthenticationFailed"),
      "a missing right": denied(403, "AuthorizationPermissionMismatch"),
      "an account that is disabled": denied(403, "AccountIsDisabled"),
      "a container that is gone": [{ status: 404, code: "ContainerNotFound" }, "media_store_not_found"],
      "a full store": [{ status: 507, code: "InsufficientStorage" }, "media_store_full"],
      "a failed store": [{ status: 500, code: "InternalError" }, "media_unavailable"],
    },
  },
};

let server: Server;
let url: string;
let answer: (req: IncomingMessage, res: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((req, res) => {
    req.resume();
    req.on("end", () => answer(req, res));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

async function put({ address, environment }: Cloud): Promise<AppError> {
  const place = parseStoreAddress(address);
  if (!isCloud(place)) throw new Error(`${address} is not a bucket.`);
  try {
    await using store = await openStore(place, { environment: environment(url) });
    await store.put("key", bytesContent(Buffer.from("x")), { content_type: "text/plain" });
  } catch (error) {
    return error as AppError;
  }
  throw new Error("The put was not refused.");
}

describe.each(Object.entries(CLOUDS))("%s", (_name, cloud) => {
  test("a put reaches the bucket of the address, with the credentials of the secrets", async () => {
    const seen: string[] = [];
    answer = (req, res) => {
      seen.push(`${req.method} ${req.url} ${req.headers.authorization ?? ""}`);
      cloud.send(res, { status: 403, code: "AccessDenied" });
    };
    await put(cloud);
    expect(seen[0]).toMatch(cloud.request);
    expect(seen.join()).not.toContain(HIDDEN.slice(0, 12));
  });

  test.each(Object.entries(cloud.failures))(
    "%s has its code, and no value of a secret",
    {
      timeout: 60_000,
    },
    async (_what, [refusal, code]) => {
      answer = (_req, res) => cloud.send(res, refusal);
      const error = await put(cloud);
      expect(error).toMatchObject({ code });
      if (code === "media_denied") expect(error.hint).toMatch(cloud.secrets);
      if (refusal.code === "RequestTimeTooSkewed") expect(error.hint).toContain("the clock of this machine");
      expect(`${JSON.stringify(error)} ${error.message} ${error.hint}`).not.toContain(HIDDEN.slice(0, 12));
    },
  );
});
