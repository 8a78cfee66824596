import type { PodHealth } from "@appdb/contract/pod-spec";
import type { Route, Schema } from "@appdb/contract/routes/api";
import { POD_API } from "@appdb/contract/routes/pod-api";
import { fetchPod, type PodAddress } from "./fetch-pod.ts";

const SILENCE_MS = 2_000;
/** Limit for a whole answer, because a pod may send single bytes forever. */
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 100_000;

/** Asks for a pod's health. Undefined without an answer in time. A pod that is not ready answers with its state. */
export async function askHealth(address: PodAddress): Promise<PodHealth | undefined> {
  return readAnswer(POD_API.health.answer, await ask(address, POD_API.health));
}

/** Digests of the trees that a database's tables and jobs need. Undefined without an answer. */
export async function askTrees(address: PodAddress): Promise<readonly string[] | undefined> {
  return readAnswer(POD_API.treeList.answer, await ask(address, POD_API.treeList))?.trees;
}

/** Tells a pod its current tree of project files. False without an answer, and for pods of versions without the route. */
export async function useTree(address: PodAddress, files: string): Promise<boolean> {
  return (await ask(address, POD_API.treeUse, JSON.stringify({ files })))?.status === 204;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a short request; the body is JSON for most routes. Undefined without an answer in time. */
export async function ask(
  address: PodAddress,
  { method, path, takes }: Route,
  body?: string,
): Promise<Answer | undefined> {
  const sent = body === undefined ? {} : { body };
  const headers: Record<string, string> = body === undefined ? {} : { "content-type": takes ?? "application/json" };
  try {
    const answer = await fetchPod({ ...address, silence_ms: SILENCE_MS, max_bytes: MAX_BYTES })(path, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers,
      ...sent,
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    // no connection or no answer in time
    return undefined;
  }
}

/** Parses an answer of any status. Undefined if it does not match the contract. */
export function readAnswer<T>(schema: Schema & { readonly _output: T }, answer: Answer | undefined): T | undefined {
  if (answer === undefined) return undefined;
  try {
    return schema.safeParse(JSON.parse(answer.text)).data as T | undefined;
  } catch {
    // an answer of another program, or a cut one
    return undefined;
  }
}
