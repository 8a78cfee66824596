import type { ServicePodHealth } from "@appdb/contract/pod-spec";
import { SERVICE_POD_API } from "@appdb/contract/routes/pod-api";
import { type Answer, ask, readAnswer } from "./ask-pod.ts";
import type { PodAddress } from "./fetch-pod.ts";

const CONFLICT = 409;

/** Asks an instance of a service how it is; undefined when nothing answers. What is not ready yet, or drains, answers too. */
export async function askService(address: PodAddress): Promise<ServicePodHealth | undefined> {
  return readAnswer(SERVICE_POD_API.health.answer, await ask(address, SERVICE_POD_API.health));
}

/** Has an instance end once nothing runs in it. False when nothing answers. */
export async function drainService(address: PodAddress): Promise<boolean> {
  return isWell(await ask(address, SERVICE_POD_API.drain));
}

/** Gives an instance a snapshot of keys. False when nothing answers; one that has a newer one keeps that. */
export async function putKeys(address: PodAddress, snapshot: string): Promise<boolean> {
  const answer = await ask(address, SERVICE_POD_API.keys, snapshot);
  return answer?.status === CONFLICT || isWell(answer);
}

function isWell(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}
