import type { Secret } from "@appdb/system/secret";

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail. Throws the mail server's error. */
export interface Mail {
  send(message: MailMessage): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 15_000;

/** Creates SMTP mail. */
export async function createMail(config: {
  readonly url: Secret;
  readonly from: string;
  /** Mails may contain links that sign in, so a mail server without TLS gets none. */
  readonly needs_tls: boolean;
}): Promise<Mail> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    url: config.url.reveal(),
    requireTLS: config.needs_tls,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // mails reference no files or addresses
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(message) {
      await transport.sendMail({ from: config.from, ...message });
    },
    close: () => transport.close(),
  };
}
