import { mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { databasePod } from "../pods/database-paths.ts";
import { createLocateVolume } from "../pods/locate-volume.ts";
import { ensurePodToken } from "../pods/pod-token.ts";
import type { TestServer } from "./open-server.ts";

export interface AskedPod {
  /** `GET /v1/tables` */
  readonly route: string;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
}

export interface FakePod extends AsyncDisposable {
  readonly asked: readonly AskedPod[];
  /** Answers the following requests. */
  answer: (asked: AskedPod, response: ServerResponse) => void;
}

/** Listens in place of the database's pod, and accepts only its token. */
export async function openFakePod(server: TestServer, database: { id: string; org_id: string }): Promise<FakePod> {
  const token = await ensurePodToken(server.deps, database);
  const runFolder = createLocateVolume(server.deps.config)({ kind: "sockets", pod: databasePod(database.id) });
  const { api } = await server.deps.pod_access.endpoints(databasePod(database.id));
  if (api.kind !== "socket") throw new Error("A pod of this machine has a socket.");
  mkdirSync(runFolder, { recursive: true });
  const asked: AskedPod[] = [];
  const http = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { headers, method, url } = request;
      if (headers.authorization !== `Bearer ${token.reveal()}`) return response.writeHead(401).end("{}");
      const one = { route: `${method} ${url}`, body: Buffer.concat(pieces).toString("utf8"), headers };
      asked.push(one);
      pod.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => http.listen(api.path, resolve));
  const pod: FakePod = {
    asked,
    answer: (_asked, response) => response.end("{}"),
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      rmSync(runFolder, { recursive: true, force: true });
    },
  };
  return pod;
}

/** Answers with a document. */
export function sendJson(response: ServerResponse, document: unknown, status = 200): void {
  const type = status < 400 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "content-type": type }).end(JSON.stringify(document));
}
