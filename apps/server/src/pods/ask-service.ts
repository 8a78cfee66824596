import type { ServicePodHealth } from "@appdb/contract/pod-spec";
import { SERVICE_POD_API } from "@appdb/contract/routes/pod-api";
import { type Answer, ask, readAnswer } from "./ask-pod.ts";
import type { PodAddress } from "./fetch-pod.ts";

const CONFLICT = 409;

/** Asks for an instance's health. Undefined without an answer. A starting or draining instance answers too. */
export async function askService(address: PodAddress): Promise<ServicePodHealth | undefined> {
  return readAnswer(SERVICE_POD_API.health.answer, await ask(address, SERVICE_POD_API.health));
}

/** Drains an instance, which then ends. False without an answer. */
export async function drainService(address: PodAddress): Promise<boolean> {
  return isHealthy(await ask(address, SERVICE_POD_API.drain));
}

/** Sends a snapshot of keys to an instance, which ignores an old one. False without an answer. */
export async function putKeys(address: PodAddress, snapshot: string): Promise<boolean> {
  const answer = await ask(address, SERVICE_POD_API.keys, snapshot);
  return answer?.status === CONFLICT || isHealthy(answer);
}

function isHealthy(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}
