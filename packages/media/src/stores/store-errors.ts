import { type AppError, appError } from "@appdb/contract/errors";

/** What a store said about a request that failed, in the words of all stores. */
export type StoreFailure = "denied" | "no_store" | "not_found" | "full" | "invalid" | "unavailable";

interface FailureContext {
  readonly address: string;
  /** What the store called the failure: `SignatureDoesNotMatch`. */
  readonly said: string;
  /** The secrets or variables that hold the credentials: `AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`. */
  readonly credentials: string;
  readonly key?: string | undefined;
  readonly cause?: unknown;
}

/** The status of a store without room. */
export const NO_ROOM = 507;
/** How stores name signatures of another time: S3 and Google's tokens. */
const OF_CLOCK = /TooSkewed|reasonable timeframe/;

/** Makes the error of a failed request to a store. It names the secrets, never their values. */
export function storeError(failure: StoreFailure, context: FailureContext): AppError {
  const { address, said, credentials, key, cause } = context;
  const meta = { store: address, ...(key === undefined ? {} : { key }) };
  switch (failure) {
    case "denied":
      return appError("media_denied", {
        detail: `The store ${address} refused access: ${said}.`,
        hint: `Check ${credentials}${OF_CLOCK.test(said) ? ", the clock of this machine," : ","} and that they may read, write, list and delete there.`,
        meta,
        cause,
      });
    case "no_store":
      return appError("media_store_not_found", {
        detail: `The store ${address} does not exist: ${said}.`,
        hint: "Create the bucket, container or folder, or correct the address.",
        meta,
        cause,
      });
    case "not_found":
      return appError("media_not_found", {
        detail: `The store ${address} has no object ${key}.`,
        hint: "The object was deleted outside of this database. Insert the file again.",
        meta,
        cause,
      });
    case "full":
      return appError("media_store_full", {
        detail: `The store ${address} has no room: ${said}.`,
        hint: "Free space in the store or raise its limit. Nothing was stored.",
        meta,
        cause,
      });
    case "invalid":
      return appError("media_invalid", {
        detail: `The store ${address} received other bytes than were sent: ${said}.`,
        hint: "Send the request again.",
        meta,
        cause,
      });
    case "unavailable":
      return appError("media_unavailable", {
        detail: `The store ${address} does not answer: ${said}.`,
        hint: "Send the request again. If it fails again, check the store and the network.",
        meta,
        cause,
      });
  }
}

/** The error of a store whose credentials are missing or unreadable. It names the variable, never its value. */
export function credentialsError(address: string, variable: string, problem: string, cause?: unknown): AppError {
  return appError("media_denied", {
    detail: `The store ${address} cannot be used: ${variable} ${problem}.`,
    hint: `Set ${variable} in the environment of the service, or as a secret of a hosted database.`,
    meta: { store: address, variable },
    cause,
  });
}
