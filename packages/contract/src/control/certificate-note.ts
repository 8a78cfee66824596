import type { HostCertificate } from "../routes/control-services.ts";

/** What a person should know of a host's certificate. */
export interface CertificateNote {
  /** Begins in lower case and has no full stop. */
  readonly text: string;
  /** The authority's words and when it is asked again, a sentence each; empty where no order failed. */
  readonly reasons: readonly string[];
  /** Clients cannot call the host now. */
  readonly is_down: boolean;
}

/** Where clients would refuse a host, or will; undefined while all is well. */
export function noteOnCertificate(certificate: HostCertificate | null): CertificateNote | undefined {
  if (certificate === null) return undefined;
  const { error, expires_at: expiresAt, next_order_at: nextOrderAt, state } = certificate;
  const reasons = error === null ? [] : [error, `It is ordered again at ${nextOrderAt}`];
  const note = (text: string, isDown: boolean): CertificateNote => ({ text, reasons, is_down: isDown });
  if (state === "ended") return note(`its certificate ended at ${expiresAt}, and clients refuse it`, true);
  if (state === "missing") {
    return note(
      error === null
        ? "its certificate is being ordered; calls fail until it is there"
        : "no certificate could be ordered, and calls fail",
      true,
    );
  }
  return error === null ? undefined : note(`its certificate ends at ${expiresAt} and could not be renewed`, false);
}
