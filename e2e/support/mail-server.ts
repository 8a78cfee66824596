import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** A mail server on a free port that stores received mails. */
export interface MailServer extends AsyncDisposable {
  readonly url: string;
  /** Texts of mails with headers, in order of arrival. */
  readonly mails: readonly string[];
}

export async function openMailServer(): Promise<MailServer> {
  const mails: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    receive(socket, (mail) => mails.push(mail));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the system gave no port");
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    mails,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

const REPLIES: Readonly<Record<string, string>> = { DATA: "354 go on", QUIT: "221 bye" };

/** The part of SMTP (RFC 5321) that a client needs for one mail after another. */
function receive(socket: Socket, keep: (mail: string) => void): void {
  let rest = "";
  let data: string[] | undefined;
  const answer = (line: string) => socket.write(`${line}\r\n`);
  answer("220 ready");
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (data === undefined) {
        const verb = line.slice(0, 4).toUpperCase();
        if (verb === "DATA") data = [];
        answer(REPLIES[verb] ?? "250 ok");
      } else if (line === ".") {
        keep(unfold(data.join("\r\n")));
        data = undefined;
        answer("250 kept");
      } else data.push(line.replace(/^\./, ""));
    }
  });
}

/** Joins lines and decodes characters of a mail in quoted-printable (RFC 2045). */
function unfold(text: string): string {
  if (!/^content-transfer-encoding: quoted-printable/im.test(text)) return text;
  return text
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number(`0x${hex}`)));
}
