import type { Secret } from "@appdb/adapters/secret";
import type { PodHealth, ServicePodHealth } from "@appdb/contract/pod-spec";
import type { Route, Schema } from "@appdb/contract/routes/api";
import { POD_API, SERVICE_POD_API } from "@appdb/contract/routes/pod-api";
import { fetchPod } from "./fetch-pod.ts";

const TIMEOUT_MS = 2_000;
const MOST_BYTES = 100_000;
const CONFLICT = 409;

/** How the API of a pod is reached, and of an instance of a service. */
export interface ServiceDoor {
  readonly socket: string;
  readonly token: Secret;
}

/** Asks a pod how it is; undefined when nothing answers in time. What is not ready yet answers too, with another state. */
export async function askHealth(socket: string, token: Secret): Promise<PodHealth | undefined> {
  return readAnswer(POD_API.health.answer, await ask({ socket, token }, POD_API.health));
}

/** Digests of the trees that a database's tables and jobs still need; undefined when nothing answers. */
export async function askTrees(socket: string, token: Secret): Promise<readonly string[] | undefined> {
  return readAnswer(POD_API.treeList.answer, await ask({ socket, token }, POD_API.treeList))?.trees;
}

/** Asks an instance of a service how it is; undefined when nothing answers. What is not ready yet, or drains, answers too. */
export async function askService(address: ServiceDoor): Promise<ServicePodHealth | undefined> {
  return readAnswer(SERVICE_POD_API.health.answer, await ask(address, SERVICE_POD_API.health));
}

/** Has an instance end once nothing runs in it. False when nothing answers. */
export async function drainService(address: ServiceDoor): Promise<boolean> {
  return isWell(await ask(address, SERVICE_POD_API.drain));
}

/** Gives an instance a snapshot of keys. False when nothing answers; one that has a newer one keeps that. */
export async function putKeys(address: ServiceDoor, snapshot: string): Promise<boolean> {
  const answer = await ask(address, SERVICE_POD_API.keys, snapshot);
  return answer?.status === CONFLICT || isWell(answer);
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function isWell(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}

async function ask(address: ServiceDoor, { method, path, takes }: Route, body?: string): Promise<Answer | undefined> {
  const sent = body === undefined || takes === undefined ? {} : { body };
  const headers: Record<string, string> = takes === undefined ? {} : { "content-type": takes };
  try {
    const answer = await fetchPod({ ...address, silence_ms: TIMEOUT_MS, most_bytes: MOST_BYTES })(path, {
      method,
      headers,
      ...sent,
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    // nothing listens, or it said nothing in time
    return undefined;
  }
}

function readAnswer<T>(schema: Schema & { readonly _output: T }, answer: Answer | undefined): T | undefined {
  if (answer === undefined) return undefined;
  try {
    return schema.safeParse(JSON.parse(answer.text)).data as T | undefined;
  } catch {
    // another program's answer, or a cut one: as good as none
    return undefined;
  }
}
