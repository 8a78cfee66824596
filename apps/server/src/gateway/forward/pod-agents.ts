import { Agent } from "node:http";
import type { Duplex } from "node:stream";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { connectPod } from "../../pods/connect-pod.ts";

/** Shorter than the pods' own idle timeout, so that a pod never closes a connection just when a request is written. */
const IDLE_MS = 30_000;
const IDLE_SOCKETS = 256;
const CONNECT_MS = 5_000;

/** Connections to the plain HTTP of pods, kept between requests; by the endpoint, of which an instance has one. */
export interface PodAgents extends Disposable {
  of(endpoint: PodEndpoint): Agent;
  /** Closes idle connections to pods that no longer serve. Running requests finish. */
  keepOnly(endpoints: ReadonlySet<PodEndpoint>): void;
}

export function createPodAgents(): PodAgents {
  const agents = new Map<PodEndpoint, Agent>();
  return {
    of(endpoint) {
      let agent = agents.get(endpoint);
      if (agent === undefined) {
        agent = new PodAgent(endpoint);
        agents.set(endpoint, agent);
      }
      return agent;
    },
    keepOnly(endpoints) {
      for (const [endpoint, agent] of agents) {
        if (endpoints.has(endpoint)) continue;
        agents.delete(endpoint);
        endIdle(agent);
      }
    },
    [Symbol.dispose]() {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

function endIdle(agent: Agent): void {
  // connections that become idle later are closed too
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

class PodAgent extends Agent {
  readonly #endpoint: PodEndpoint;

  constructor(endpoint: PodEndpoint) {
    super({ keepAlive: true, maxFreeSockets: IDLE_SOCKETS, timeout: IDLE_MS, scheduling: "lifo" });
    this.#endpoint = endpoint;
  }

  /** Checks the socket before connecting, because the pod owns its folder. */
  override createConnection(
    _options: unknown,
    done: (error: Error | null, socket?: Duplex) => void,
  ): Duplex | undefined {
    try {
      return connectPod(this.#endpoint, CONNECT_MS);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
  }

  // all connections of an agent go to one socket, whatever the request's host
  override getName(): string {
    return "";
  }
}
