import { AppError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { HealthProblem } from "../../health/problems.ts";
import type { MediaBucket } from "../../storage/media-bucket.ts";

const CHECK_MS = 10_000;

export type BucketAction = "read" | "write";

/** Knows whether the operator's bucket works, by requests of pods and by its own checks. */
export interface BucketWatch extends Disposable {
  /** Notes how a request ended: undefined if it did what it should. */
  note(action: BucketAction, failure: unknown): void;
  problems(): HealthProblem[];
}

/** What the operator does, by the code of a failure. Texts name variables, never their values. */
const PROBLEMS: Readonly<Record<string, string>> = {
  media_denied:
    "The bucket of SERVICE_MEDIA_URL refuses access. Check the credentials in the server's environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_CREDENTIALS, or AZURE_STORAGE_CONNECTION_STRING), and that they may read, write, list and delete there.",
  media_store_not_found:
    "The bucket of SERVICE_MEDIA_URL does not exist, or is in another region. Create it, or correct SERVICE_MEDIA_URL or AWS_REGION.",
  media_store_full: "The bucket of SERVICE_MEDIA_URL is full. No files can be stored.",
  media_unavailable:
    "The bucket of SERVICE_MEDIA_URL does not answer as it should. Check the network, AWS_REGION and AWS_ENDPOINT_URL.",
};
const OTHER = "The bucket of SERVICE_MEDIA_URL cannot be opened. The gateway's log has the reason.";
/** Failures of one request, which say nothing of the bucket. */
const OF_REQUESTS = ["media_not_found", "media_invalid", "overloaded"];

/** Checks at once and regularly, until disposed. */
export function watchBucket(bucket: Pick<MediaBucket, "check">, log: Logger, checkMs = CHECK_MS): BucketWatch {
  const failing = new Map<BucketAction, string>();
  const note: BucketWatch["note"] = (action, failure) => {
    const code = failure instanceof AppError ? failure.code : "internal_error";
    if (failure !== undefined && OF_REQUESTS.includes(code)) return;
    if (failure === undefined) return void failing.delete(action);
    if (failing.get(action) === code) return;
    failing.set(action, code);
    // the text alone: errors of an SDK have headers of the request
    log.warn({ action, code, reason: failure instanceof Error ? failure.message : "" }, "the media bucket failed");
  };
  let isEnded = false;
  let timer: NodeJS.Timeout | undefined;
  const check = async (how: BucketAction): Promise<void> => {
    try {
      await bucket.check(how);
      note("read", undefined);
      if (how === "write") note("write", undefined);
    } catch (error) {
      note(how, error);
    }
    if (isEnded) return;
    timer = setTimeout(() => void check(failing.has("write") ? "write" : "read"), checkMs).unref();
  };
  void check("write");
  return {
    note,
    problems() {
      const codes = new Set(failing.values());
      return [...codes].map((code) => ({ code: "media_bucket_failed", what: PROBLEMS[code] ?? OTHER }));
    },
    [Symbol.dispose]() {
      isEnded = true;
      clearTimeout(timer);
    },
  };
}
