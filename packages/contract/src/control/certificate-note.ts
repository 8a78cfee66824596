import type { HostCertificate } from "../routes/control-services.ts";

/** A note for people on a host's certificate. */
export interface CertificateNote {
  /** Begins in lower case, without a full stop. */
  readonly text: string;
  /** The authority's message and the next order, one sentence each; empty if no order failed. */
  readonly reasons: readonly string[];
  /** Clients cannot call the host now. */
  readonly is_down: boolean;
}

/** A note for a host that clients refuse or will refuse; undefined while all is well. */
export function noteOnCertificate(certificate: HostCertificate | null): CertificateNote | undefined {
  if (certificate === null) return undefined;
  const { error, expires_at: expiresAt, next_order_at: nextOrderAt, state } = certificate;
  const reasons = error === null ? [] : [error, `It is ordered again at ${nextOrderAt}`];
  const note = (text: string, isDown: boolean): CertificateNote => ({ text, reasons, is_down: isDown });
  if (state === "ended") return note(`its certificate ended at ${expiresAt}, and clients refuse it`, true);
  if (state === "missing") {
    return note(
      error === null
        ? "its certificate is being ordered; calls fail until it is issued"
        : "no certificate could be ordered, and calls fail",
      true,
    );
  }
  return error === null ? undefined : note(`its certificate ends at ${expiresAt} and could not be renewed`, false);
}
