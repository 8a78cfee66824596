import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";

export interface CertificateFiles {
  readonly cert_file: string;
  readonly key_file: string;
}

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

const LOOK_MS = 1_000;
const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;

/** Reads a certificate and its key. @throws config_invalid if one cannot be read or they do not match */
export function readCertificate({ cert_file: certFile, key_file: keyFile }: CertificateFiles): Certificate {
  try {
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(pair);
    return pair;
  } catch (cause) {
    throw appError("config_invalid", {
      detail: `The certificate ${certFile} cannot be used with the key ${keyFile}: ${cause instanceof Error ? cause.message : String(cause)}.`,
      hint: "SERVICE_TLS_CERT and SERVICE_TLS_KEY must name matching PEM files.",
      meta: { settings: ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"] },
      cause,
    });
  }
}

export interface WatchCertificateDeps {
  readonly log: Logger;
  readonly files: CertificateFiles;
  readonly domain: string;
  /** Called with each new certificate. */
  take(certificate: Certificate): void;
  readonly look_ms?: number;
  /** Time in ms since 1970, for validity periods. */
  readonly now?: () => number;
}

/**
 * Watches the files for a renewed certificate. Logs one that expires soon, has expired, or does not cover the domain.
 * Unusable files, possibly half written, change nothing.
 */
export function watchCertificate(deps: WatchCertificateDeps, first: Certificate): Disposable & { hasEnded(): boolean } {
  const { log, files, now = Date.now } = deps;
  let seen = stampOf(files);
  let saidAt = 0;
  let current = first;
  const say = () => {
    saidAt = now();
    logProblems(log, current, deps.domain, saidAt);
  };
  say();
  const timer = setInterval(() => {
    const stamp = stampOf(files);
    if (stamp !== seen) {
      try {
        const next = readCertificate(files);
        seen = stamp;
        if (!next.cert.equals(current.cert) || !next.key.equals(current.key)) {
          current = next;
          deps.take(next);
          log.info({ ends_at: new X509Certificate(next.cert).validTo }, "the gateway uses a renewed certificate");
          say();
        }
      } catch (error) {
        seen = stamp;
        log.error({ err: error }, "a renewed certificate cannot be used; the gateway keeps the previous one");
      }
    }
    if (now() - saidAt > DAY_MS) say();
  }, deps.look_ms ?? LOOK_MS).unref();
  return {
    hasEnded: () => Date.parse(new X509Certificate(current.cert).validTo) <= now(),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function stampOf({ cert_file: certFile, key_file: keyFile }: CertificateFiles): string {
  return [certFile, keyFile]
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found === undefined ? "none" : `${found.ino} ${found.mtimeMs} ${found.size}`;
    })
    .join(" ");
}

function logProblems(log: Logger, { cert }: Certificate, domain: string, nowMs: number): void {
  const read = new X509Certificate(cert);
  const leftMs = Date.parse(read.validTo) - nowMs;
  const fields = { ends_at: read.validTo };
  if (leftMs <= 0) log.error(fields, "the gateway's certificate has expired: clients refuse it");
  else if (leftMs < SOON_MS) log.warn(fields, "the gateway's certificate expires soon");
  if (read.checkHost(`d0.${domain}`) === undefined) {
    log.error({ needed: `*.${domain}`, names: read.subjectAltName }, "the gateway's certificate is for other hosts");
  }
}
