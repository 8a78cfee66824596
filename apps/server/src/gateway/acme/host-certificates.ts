import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import type { KeyedCertificate } from "./acme-orders.ts";

/** The ALPN protocol of an authority that validates a host. */
const ACME_PROTOCOL = "acme-tls/1";
const PROTOCOLS = ["h2", "http/1.1"] as const;

/** A certificate in use. Times are ms since 1970. */
export interface ShownCertificate extends KeyedCertificate {
  readonly begins_at: number;
  readonly ends_at: number;
}

/** The certificates for handshakes, all in memory. */
export interface HostCertificates {
  get(host: string): ShownCertificate | undefined;
  all(): Iterable<readonly [host: string, certificate: ShownCertificate]>;
  set(host: string, certificate: KeyedCertificate): ShownCertificate;
  forget(host: string): void;
  /** Sets the validation certificate of a host. Undefined removes it. */
  setProof(host: string, proof: KeyedCertificate | undefined): void;
  /** For the server: the certificate of the host that a client names. */
  readonly SNICallback: (
    this: TLSSocket,
    name: string,
    done: (error: Error | null, context?: SecureContext) => void,
  ) => void;
  /** For the server: the protocol. */
  readonly ALPNCallback: (
    this: TLSSocket,
    hello: { readonly servername: string; readonly protocols: readonly string[] },
  ) => string | undefined;
}

export interface HostCertificatesDeps {
  /** Whether the host may get a certificate soon. */
  isExpected(host: string): boolean;
  /** How long a handshake waits for a certificate. */
  readonly wait_ms: number;
}

export function createHostCertificates({ isExpected, wait_ms: waitMs }: HostCertificatesDeps): HostCertificates {
  const shown = new Map<string, ShownCertificate & { readonly context: SecureContext }>();
  const proofs = new Map<string, SecureContext>();
  const waiting = new Map<string, Set<() => void>>();
  const authorities = new WeakSet<TLSSocket>();
  const waitFor = (host: string, resume: () => void) => {
    const set = waiting.get(host) ?? new Set();
    waiting.set(host, set);
    const go = () => {
      clearTimeout(timer);
      set.delete(go);
      if (set.size === 0 && waiting.get(host) === set) waiting.delete(host);
      resume();
    };
    const timer = setTimeout(go, waitMs);
    set.add(go);
  };
  return {
    get: (host) => shown.get(host),
    all: () => shown.entries(),
    set(host, certificate) {
      const entry = {
        ...certificate,
        ...readCertificateDates(certificate),
        context: createSecureContext({ cert: certificate.chain, key: certificate.key, minVersion: "TLSv1.2" }),
      };
      shown.set(host, entry);
      for (const resume of [...(waiting.get(host) ?? [])]) resume();
      return entry;
    },
    forget(host) {
      shown.delete(host);
    },
    setProof(host, proof) {
      if (proof === undefined) proofs.delete(host);
      else proofs.set(host, createSecureContext({ cert: proof.chain, key: proof.key }));
    },
    SNICallback(name, done) {
      const host = name.toLowerCase();
      const found = shown.get(host)?.context;
      const proof = proofs.get(host);
      // TLS 1.3 knows the protocol here. TLS 1.2 learns it later, when only the validation certificate could be used
      const isEarly = this.getProtocol() === "TLSv1.2";
      if (proof !== undefined && (authorities.has(this) || (isEarly && found === undefined))) return done(null, proof);
      if (found !== undefined || !isExpected(host)) return done(null, found);
      waitFor(host, () => done(null, shown.get(host)?.context));
    },
    ALPNCallback({ servername, protocols }) {
      if (!protocols.includes(ACME_PROTOCOL)) return PROTOCOLS.find((name) => protocols.includes(name));
      const proof = proofs.get(String(servername).toLowerCase());
      if (proof === undefined) return undefined;
      authorities.add(this);
      this.setKeyCert(proof);
      return ACME_PROTOCOL;
    },
  };
}

/** The validity of a chain's first certificate, in ms since 1970. */
export function readCertificateDates({ chain }: KeyedCertificate): Pick<ShownCertificate, "begins_at" | "ends_at"> {
  const { validFrom, validTo } = new X509Certificate(chain);
  return { begins_at: Date.parse(validFrom), ends_at: Date.parse(validTo) };
}
