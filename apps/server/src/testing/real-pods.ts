import { request } from "node:http";
import { text } from "node:stream/consumers";
import type { PodProgram } from "@appdb/pods/driver/local-driver";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { builtProgram } from "@appdb/testkit/built-programs";
import { openHostRuntime } from "../pods/open-host-runtime.ts";
import { startReconciler } from "../reconciler/reconciler.ts";
import type { TestServer } from "./open-server.ts";

/** Starts a reconciler with real pods, which end with it. */
export async function startPods(server: TestServer) {
  const { deps } = server;
  const machine = await openHostRuntime({
    ...deps,
    config: { ...deps.config, home: server.home },
    pod_program: builtPod(),
  });
  const reconciler = await startReconciler({ ...deps, machine, pool_options: deps.pool.options, allow_private: false });
  return {
    machine,
    async [Symbol.asyncDispose]() {
      await reconciler.stop("end pods");
      await machine[Symbol.asyncDispose]();
    },
  };
}

/** The built pod program, which starts faster than from source. */
export function builtPod(): PodProgram {
  return { file: builtProgram("pod"), node_options: [] };
}

/** Asks a pod; the answer as it came. */
export function askPod(
  endpoint: PodEndpoint,
  headers: Record<string, string>,
  method: string,
  path: string,
  body: unknown,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const to = endpoint.kind === "socket" ? { socketPath: endpoint.path } : endpoint;
    const asked = request({ ...to, method, path, agent: false, headers: { ...type, ...headers } }, (answer) => {
      text(answer).then(resolve, reject);
    });
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
