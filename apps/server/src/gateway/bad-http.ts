import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { toProblem } from "@appdb/contract/errors";
import { printBadHttp, refuseBadHttp } from "@appdb/http/bad-http";

/** Answers invalid HTTP and closes the connection: there is no request to reply to. */
export function answerMalformedHttp(server: EventEmitter, onRefused: (status: number) => void): void {
  server.on("clientError", (error: Error & { code?: string }, connection: Duplex) => {
    if (error.code === "ECONNRESET" || !connection.writable) {
      connection.destroy();
      return;
    }
    const refusal = refuseBadHttp(error.code, "Send HTTP/1.1 with a single, valid body length.");
    const id = randomUUID();
    onRefused(refusal.status);
    connection.end(printBadHttp(refusal, id, toProblem(refusal.error, id)), () => connection.destroy());
  });
}
