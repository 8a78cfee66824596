import { createPublicKey } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { appError } from "@appdb/contract/errors";
import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import type { Logger } from "@appdb/engine/ports";
import { type Applied, createKeyVerifier, keyAllows, type VerifiedKey } from "@appdb/system/keys/key-verifier";

export const API_KEY_HEADER = "x-api-key";

/** Who may call a service. */
export interface CallerKeys {
  /** Takes a snapshot that has just been pushed. */
  apply(snapshot: string): Applied;
  /**
   * Lets through who shows a key that may call the service, and takes the key out of the headers: the application's code is not
   * to have it. `X-api-key` decides when it is there.
   * @throws unauthorized, forbidden, keys_unavailable
   */
  check(headers: IncomingHttpHeaders): VerifiedKey;
}

/** Opens the keys of a service by the snapshot that its pod was started with. @throws pod_failed */
export function openServiceKeys(
  spec: Pick<ServicePodSpec, "keys" | "organization" | "database" | "service">,
  log: Logger,
): CallerKeys {
  const { organization, database, service } = spec;
  const verifier = createKeyVerifier({
    organization,
    database,
    public_key: readPublicKey(spec.keys.public_key),
    clock: { now: Date.now, monotonic: () => performance.now() },
  });
  const applied = verifier.apply(spec.keys.snapshot, "kept");
  if (applied !== "applied") log.warn({ applied }, "the keys that the pod was started with cannot be used");
  return {
    apply: (snapshot) => verifier.apply(snapshot, "live"),
    check(headers) {
      const shown = shownKey(headers);
      if (shown === undefined) throw noKey("The request shows no API key.");
      const found = verifier.verify(shown.key);
      if (found.outcome === "stale") throw keysUnavailable();
      if (found.outcome !== "good") throw noKey("The API key is not valid, or was revoked.");
      if (!keyAllows(found.key, { verb: "access", organization, database, service })) throw notGranted(service);
      delete headers[shown.header];
      return found.key;
    },
  };
}

function shownKey(headers: IncomingHttpHeaders): { readonly header: string; readonly key: string } | undefined {
  const own = headers[API_KEY_HEADER];
  if (own !== undefined) return { header: API_KEY_HEADER, key: String(own) };
  const bearer = /^Bearer (\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return bearer === undefined ? undefined : { header: "authorization", key: bearer };
}

function readPublicKey(base64: string) {
  try {
    return createPublicKey({ key: Buffer.from(base64, "base64"), format: "der", type: "spki" });
  } catch (cause) {
    throw appError("pod_failed", {
      detail: "The public key that the pod was told is none.",
      hint: "The driver of the pods and the pod must be of one version.",
      cause,
    });
  }
}

function noKey(detail: string): Error {
  return appError("unauthorized", {
    detail,
    hint: "Send one: X-api-key: sk_... (made by: cli key create <name>)",
  });
}

function notGranted(service: string): Error {
  return appError("forbidden", {
    detail: `The API key may not call the service ${service}.`,
    hint: "Show a key that was granted it, or make one: cli key create <name> --grant access:cloud://<org>:<db>/services",
  });
}

function keysUnavailable(): Error {
  return appError("keys_unavailable", {
    detail: "API keys cannot be checked now: for 24 hours the control plane has not said which are valid.",
    hint: "Send the request again in a moment.",
  });
}
