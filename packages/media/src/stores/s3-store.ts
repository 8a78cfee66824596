import { Readable } from "node:stream";
import type { GetObjectCommandInput, PutObjectCommand, S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import { readPart, readWhole, sendParts } from "./content.ts";
import { printStoreAddress, type StoreAddress } from "./media-address.ts";
import { checkKey, type MediaContent, type MediaStore, type PutOptions } from "./media-store.ts";
import type { StoreSettings } from "./settings.ts";
import { credentialsError, NO_ROOM, type StoreFailure, storeError } from "./store-errors.ts";

/** S3 takes parts from 5 MiB, and at most 10,000 of them. */
const PART_BYTES = 16 << 20;
const MAX_PARTS = 10_000;
const DELETE_AT_ONCE = 1_000;
const DEFAULT_REGION = "us-east-1";
const CREDENTIALS = "the secrets AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

const FAILURES: Readonly<Record<string, StoreFailure>> = {
  NoSuchKey: "not_found",
  NotFound: "not_found",
  NoSuchBucket: "no_store",
  AccessDenied: "denied",
  Forbidden: "denied",
  InvalidAccessKeyId: "denied",
  // of versitygw
  XAdminUserNotFound: "denied",
  SignatureDoesNotMatch: "denied",
  ExpiredToken: "denied",
  InvalidToken: "denied",
  RequestTimeTooSkewed: "denied",
  CredentialsProviderError: "denied",
  PermanentRedirect: "no_store",
  InvalidBucketName: "no_store",
  BadDigest: "invalid",
  XAmzContentChecksumMismatch: "invalid",
  XAmzContentSHA256Mismatch: "invalid",
  QuotaExceeded: "full",
  XMinioStorageFull: "full",
};

/** Other failures: servers have names of their own for them. */
const OF_STATUS: Readonly<Record<number, StoreFailure>> = { 403: "denied", [NO_ROOM]: "full" };

/**
 * Opens a bucket of S3, or of a service that speaks S3's protocol at `AWS_ENDPOINT_URL`. The SDK is loaded here.
 * Facts: Amazon S3 API reference (PutObject, CreateMultipartUpload, conditional writes).
 * @throws media_denied without a key
 */
export async function openS3Store(
  place: Extract<StoreAddress, { bucket: string }>,
  { environment }: StoreSettings,
): Promise<MediaStore> {
  const required = (variable: "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY"): string => {
    const { [variable]: value } = environment;
    if (value) return value;
    throw credentialsError(printStoreAddress(place), variable, value === undefined ? "is not set" : "is empty");
  };
  const accessKeyId = required("AWS_ACCESS_KEY_ID");
  const secretAccessKey = required("AWS_SECRET_ACCESS_KEY");
  // Otherwise the SDK warns about the version of Node in the log of each service.
  // biome-ignore lint/style/noProcessEnv: the SDK reads it only there
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = "true";
  const sdk = await import("@aws-sdk/client-s3");
  const endpoint = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
  const client = new sdk.S3Client({
    region: environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION ?? DEFAULT_REGION,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    credentials: {
      accessKeyId,
      secretAccessKey,
      ...(environment.AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: environment.AWS_SESSION_TOKEN }),
    },
    // a lifetime of several seconds, with growing pauses
    maxAttempts: 4,
  });
  return new S3Store(sdk, client, place);
}

class S3Store implements MediaStore {
  readonly address: string;
  readonly #sdk: typeof import("@aws-sdk/client-s3");
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(
    sdk: typeof import("@aws-sdk/client-s3"),
    client: S3Client,
    place: Extract<StoreAddress, { bucket: string }>,
  ) {
    this.address = printStoreAddress(place);
    this.#sdk = sdk;
    this.#client = client;
    this.#bucket = place.bucket;
    this.#prefix = place.prefix === "" ? "" : `${place.prefix}/`;
  }

  async put(key: string, content: MediaContent, options: PutOptions): Promise<{ created: boolean }> {
    const object = this.#object(key);
    return this.#run(key, async () => {
      try {
        if (content.bytes <= PART_BYTES) {
          await this.#putWhole(object, content, options);
          return { created: true };
        }
        // the condition counts at the end; nothing large is sent for nothing
        if ((await this.head(key)) !== undefined) return { created: false };
        await this.#putParts(object, content, options);
        return { created: true };
      } catch (error) {
        if (statusOf(error) === 412) return { created: false };
        throw error;
      }
    });
  }

  async head(key: string) {
    const object = this.#object(key);
    return this.#run(key, async () => {
      try {
        const found = await this.#client.send(new this.#sdk.HeadObjectCommand(object));
        const { ContentLength: bytes = 0, ETag: version = "", LastModified } = found;
        return { key, bytes, modified_ms: LastModified?.getTime() ?? 0, version };
      } catch (error) {
        if (statusOf(error) !== 404) throw error;
        // the response to a HEAD does not say whether the object or the bucket is missing
        await this.list({ limit: 1 });
        return undefined;
      }
    });
  }

  pathOf(): undefined {
    return undefined;
  }

  async get(key: string, { range, signal }: Parameters<MediaStore["get"]>[1] = {}) {
    const input: GetObjectCommandInput = this.#object(key);
    if (range !== undefined && range.end > range.start) input.Range = `bytes=${range.start}-${range.end - 1}`;
    return this.#run(key, async () => {
      const found = await this.#client.send(new this.#sdk.GetObjectCommand(input), abort(signal));
      const bytes = Number(found.ContentRange?.split("/")[1] ?? found.ContentLength ?? 0);
      const body = found.Body as Readable;
      const version = found.ETag ?? "";
      if (range === undefined || range.end > range.start) return { bytes, version, body };
      body.destroy();
      return { bytes, version, body: Readable.from([]) };
    });
  }

  async list({ prefix = "", after, limit = 1_000 }: Parameters<MediaStore["list"]>[0] = {}) {
    return this.#run(undefined, async () => {
      const found = await this.#client.send(
        new this.#sdk.ListObjectsV2Command({
          Bucket: this.#bucket,
          Prefix: this.#prefix + prefix,
          MaxKeys: limit,
          StartAfter: after === undefined ? undefined : this.#prefix + after,
        }),
      );
      const objects = (found.Contents ?? []).map((object) => ({
        key: (object.Key ?? "").slice(this.#prefix.length),
        bytes: object.Size ?? 0,
        modified_ms: object.LastModified?.getTime() ?? 0,
        version: object.ETag ?? "",
      }));
      return { objects, next: found.IsTruncated === true ? objects.at(-1)?.key : undefined };
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += DELETE_AT_ONCE) {
      const Objects = keys.slice(at, at + DELETE_AT_ONCE).map((key) => ({ Key: this.#object(key).Key }));
      await this.#run(undefined, async () => {
        const { Errors } = await this.#client.send(
          new this.#sdk.DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } }),
        );
        const [first] = (Errors ?? []).filter(({ Code }) => Code !== "NoSuchKey");
        if (first !== undefined) throw Object.assign(new Error(first.Message), { name: first.Code ?? "Error" });
      });
    }
  }

  async endUploads(beforeMs: number): Promise<number> {
    return this.#run(undefined, async () => {
      let ended = 0;
      let from: { KeyMarker?: string; UploadIdMarker?: string } = {};
      for (let isLast = false; !isLast; ) {
        const list = new this.#sdk.ListMultipartUploadsCommand({
          Bucket: this.#bucket,
          Prefix: this.#prefix,
          ...from,
        });
        const {
          IsTruncated,
          NextKeyMarker = "",
          NextUploadIdMarker = "",
          Uploads = [],
        } = await this.#client.send(list);
        for (const { Initiated, Key, UploadId } of Uploads) {
          if (Initiated === undefined || Initiated.getTime() >= beforeMs) continue;
          await this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId }));
          ended += 1;
        }
        isLast = IsTruncated !== true;
        from = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
      }
      return ended;
    });
  }

  async signGet(key: string, { expires_s: expiresIn, disposition }: Parameters<MediaStore["signGet"]>[1]) {
    const { getSignedUrl } = await import("@aws-sdk/s3-request-presigner");
    const input: GetObjectCommandInput = this.#object(key);
    if (disposition !== undefined) input.ResponseContentDisposition = disposition;
    return this.#run(key, () => getSignedUrl(this.#client, new this.#sdk.GetObjectCommand(input), { expiresIn }));
  }

  async signPut(key: string, options: Parameters<MediaStore["signPut"]>[1]) {
    const { getSignedUrl } = await import("@aws-sdk/s3-request-presigner");
    const command = new this.#sdk.PutObjectCommand({ ...this.#object(key), ContentType: options.content_type });
    return this.#run(key, () => getSignedUrl(this.#client, command, { expiresIn: options.expires_s }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy();
  }

  async #putWhole(object: ObjectName, content: MediaContent, options: PutOptions): Promise<void> {
    const command = new this.#sdk.PutObjectCommand({
      ...object,
      Body: await readWhole(content),
      ContentType: options.content_type,
      IfNoneMatch: "*",
      ...(options.sha256 === undefined
        ? {}
        : { ChecksumSHA256: Buffer.from(options.sha256, "hex").toString("base64") }),
    });
    if (options.sha256 !== undefined) signWithHash(command, options.sha256);
    await this.#client.send(command, abort(options.signal));
  }

  async #putParts(object: ObjectName, content: MediaContent, options: PutOptions): Promise<void> {
    const begin = new this.#sdk.CreateMultipartUploadCommand({ ...object, ContentType: options.content_type });
    const { UploadId } = await this.#client.send(begin, abort(options.signal));
    const upload = { ...object, UploadId };
    try {
      const partBytes = Math.max(PART_BYTES, Math.ceil(content.bytes / MAX_PARTS));
      const tags = await sendParts(content, partBytes, async (start, end, index) => {
        const Body = await readPart(content, start, end);
        const command = new this.#sdk.UploadPartCommand({ ...upload, PartNumber: index + 1, Body });
        return (await this.#client.send(command, abort(options.signal))).ETag;
      });
      const Parts = tags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
      const end = new this.#sdk.CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts },
        IfNoneMatch: "*",
      });
      await this.#client.send(end, abort(options.signal));
    } catch (error) {
      // what is not ended is billed; a killed process leaves it to endUploads
      await this.#client.send(new this.#sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  #object(key: string): ObjectName {
    return { Bucket: this.#bucket, Key: this.#prefix + checkKey(key) };
  }

  async #run<T>(key: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const { name = "Error", message = "" } = cause as S3ServiceException;
      if (name === "AbortError" || name === "AppError") throw cause;
      const failure = FAILURES[name] ?? OF_STATUS[statusOf(cause) ?? 0] ?? "unavailable";
      const said = name === message || name === "Error" ? message : name;
      throw storeError(failure, { address: this.address, said, credentials: CREDENTIALS, key, cause });
    }
  }
}

interface ObjectName {
  readonly Bucket: string;
  readonly Key: string;
}

/**
 * Signs a request with the known hash of its body, which the SDK would compute again. The store compares it with what
 * arrives (Amazon S3 API reference, Signature Version 4, x-amz-content-sha256).
 */
function signWithHash(command: PutObjectCommand, sha256: string): void {
  command.middlewareStack.add(
    (next) => (args) => {
      (args.request as { headers: Record<string, string> }).headers["x-amz-content-sha256"] = sha256;
      return next(args);
    },
    { step: "build", name: "contentHash" },
  );
}

function abort(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}
