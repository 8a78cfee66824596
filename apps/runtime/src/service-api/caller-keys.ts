import { createPublicKey } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { appError } from "@appdb/contract/errors";
import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import type { Logger } from "@appdb/engine/ports";
import type { LinkCaller } from "@appdb/pods/link/link";
import { type Applied, createKeyVerifier, keyAllows } from "@appdb/system/keys/key-verifier";

export const API_KEY_HEADER = "x-api-key";

/** Checks who may call a service. */
export interface CallerKeys {
  /** Applies a snapshot that was just pushed. */
  apply(snapshot: string): Applied;
  /**
   * Accepts a request whose key may call the service, and removes the key from the headers, because application code
   * must not see it. `X-api-key` takes precedence when present.
   * @throws unauthorized, forbidden, keys_unavailable
   */
  check(headers: IncomingHttpHeaders): LinkCaller;
}

/** Opens the keys of a service from the snapshot in its pod's spec. @throws pod_failed */
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
  if (applied !== "applied") log.warn({ applied }, "the keys in the pod's spec cannot be used");
  return {
    apply: (snapshot) => verifier.apply(snapshot, "live"),
    check(headers) {
      const received = shownKey(headers);
      if (received === undefined) throw noKey("The request has no API key.");
      const found = verifier.verify(received.key);
      if (found.outcome === "stale") throw keysUnavailable();
      if (found.outcome !== "good") throw noKey("The API key is not valid, or was revoked.");
      const { key } = found;
      const need = { verb: "access", organization, database } as const;
      if (!keyAllows(key, { ...need, service })) throw notGranted(service);
      delete headers[received.header];
      return { id: key.id, name: key.name, reads_media: keyAllows(key, { ...need, service: null }) };
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
      detail: "The public key in the pod's spec is invalid.",
      hint: "The pod driver and the pod must have the same version.",
      cause,
    });
  }
}

export function noKey(detail: string): Error {
  return appError("unauthorized", {
    detail,
    hint: "Send one: X-api-key: sk_... (made by: cli key create <name>)",
  });
}

function notGranted(service: string): Error {
  return appError("forbidden", {
    detail: `The API key may not call the service ${service}.`,
    hint: "Use a key with access, or create one: cli key create <name> --grant access:cloud://<org>:<db>/services",
  });
}

function keysUnavailable(): Error {
  return appError("keys_unavailable", {
    detail: "API keys cannot be checked now: the control plane has not confirmed them for 24 hours.",
    hint: "Send the request again in a moment.",
  });
}
