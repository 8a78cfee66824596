import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The command of the gateway's program. */
export interface GatewayProgram {
  readonly file: string;
  readonly node_options: readonly string[];
}

/** In the bundle, gateway.js is next to server.js. From source, it is `main.ts` with a loader. */
export function findGatewayProgram(): GatewayProgram {
  const fromSource = import.meta.url.endsWith(".ts");
  const file = fileURLToPath(new URL(fromSource ? "./main.ts" : "./gateway.js", import.meta.url));
  if (!fromSource) return { file, node_options: [] };
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  return { file, node_options: ["--conditions=source", "--import", loader] };
}
