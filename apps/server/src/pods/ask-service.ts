import { type IncomingMessage, request } from "node:http";
import type { Secret } from "@appdb/adapters/secret";
import { type ServicePodHealth, servicePodHealthSchema } from "@appdb/contract/pod-spec";
import { SERVICE_POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { connectPod } from "./connect-pod.ts";

const TIMEOUT_MS = 2_000;
const MOST_BYTES = 100_000;
const CONFLICT = 409;

/** How the API of an instance of a service is reached. */
export interface ServiceDoor {
  readonly socket: string;
  readonly token: Secret;
}

/** Asks an instance how it is; undefined when nobody answers in time. What is not ready yet, or drains, answers too. */
export async function askService(door: ServiceDoor): Promise<ServicePodHealth | undefined> {
  const answer = await ask(door, SERVICE_POD_ROUTES.health).catch(() => undefined);
  return answer === undefined ? undefined : servicePodHealthSchema.safeParse(parse(answer.text)).data;
}

/** Has an instance end by itself once nothing runs in it. False when nobody answers. */
export async function drainService(door: ServiceDoor): Promise<boolean> {
  return isWell(await ask(door, SERVICE_POD_ROUTES.drain).catch(() => undefined));
}

/** Gives an instance a snapshot of keys. False when nobody answers; one that has a newer one keeps that. */
export async function putKeys(door: ServiceDoor, snapshot: string): Promise<boolean> {
  const answer = await ask(door, SERVICE_POD_ROUTES.keys, snapshot).catch(() => undefined);
  return answer?.status === CONFLICT || isWell(answer);
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function isWell(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}

function ask(door: ServiceDoor, route: { method: string; path: string }, text?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authorization = `Bearer ${door.token.reveal()}`;
    const headers = {
      authorization,
      ...(text === undefined ? {} : { "content-type": "text/plain", "content-length": Buffer.byteLength(text) }),
    };
    // a connection for this request alone: a kept one would outlive the pod
    const createConnection = () => connectPod(door.socket, TIMEOUT_MS);
    const asked = request({ createConnection, ...route, headers, timeout: TIMEOUT_MS }, (answer) => {
      readAll(answer).then((body) => resolve({ status: answer.statusCode ?? 0, text: body }), reject);
    });
    asked.on("timeout", () => asked.destroy(new Error("The pod does not answer.")));
    asked.on("error", reject);
    asked.end(text);
  });
}

async function readAll(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += (piece as Buffer).length;
    if (bytes > MOST_BYTES) throw new Error("The pod's answer is too long.");
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // another program's answer, or a cut one: as good as none
    return undefined;
  }
}
