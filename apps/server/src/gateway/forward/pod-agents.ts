import { Agent } from "node:http";
import type { Duplex } from "node:stream";
import { connectPod } from "../../pods/connect-pod.ts";

/** Shorter than the pods' own idle timeout, so that a pod never closes a connection just when a request is written. */
const IDLE_MS = 30_000;
const IDLE_SOCKETS = 256;
const CONNECT_MS = 5_000;

/** Keep-alive connections to pods over plain HTTP, by socket path, which names an instance. */
export interface PodAgents extends Disposable {
  of(socket: string): Agent;
  /** Closes idle connections to pods that no longer serve. Running requests finish. */
  keepOnly(sockets: ReadonlySet<string>): void;
}

export function createPodAgents(): PodAgents {
  const agents = new Map<string, Agent>();
  return {
    of(socket) {
      let agent = agents.get(socket);
      if (agent === undefined) {
        agent = new PodAgent(socket);
        agents.set(socket, agent);
      }
      return agent;
    },
    keepOnly(sockets) {
      for (const [socket, agent] of agents) {
        if (sockets.has(socket)) continue;
        agents.delete(socket);
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
  readonly #socket: string;

  constructor(socket: string) {
    super({ keepAlive: true, maxFreeSockets: IDLE_SOCKETS, timeout: IDLE_MS, scheduling: "lifo" });
    this.#socket = socket;
  }

  /** Checks the socket before connecting, because the pod owns its folder. */
  override createConnection(
    _options: unknown,
    done: (error: Error | null, socket?: Duplex) => void,
  ): Duplex | undefined {
    try {
      return connectPod(this.#socket, CONNECT_MS);
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
