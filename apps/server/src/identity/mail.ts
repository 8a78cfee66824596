import type { Secret } from "@appdb/system/secret";

export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail; throws what the mail server says. */
export interface Mail {
  send(message: MailMessage): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 15_000;

/** Mail by SMTP. */
export async function createMail(config: {
  readonly url: Secret;
  readonly from: string;
  /** Mails may hold links that sign in: a mail server that offers no TLS then gets none. */
  readonly needs_tls: boolean;
}): Promise<Mail> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    url: config.url.reveal(),
    requireTLS: config.needs_tls,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // a text of ours names no files or addresses to fetch
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
