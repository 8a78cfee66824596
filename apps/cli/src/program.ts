import { fileURLToPath } from "node:url";

/** How this installation starts its own programs. */
export interface Program {
  /** `import.meta.url` of the running program, for finding files of the installation. */
  readonly url: string;
  /** The command line of `pod.js` with these arguments. */
  pod(args: readonly string[]): readonly [command: string, ...args: string[]];
  /** The command line of `server.js` with these arguments. The file may be missing, as in the wheel. */
  server(args: readonly string[]): {
    readonly file: string;
    readonly argv: readonly [command: string, ...args: string[]];
  };
}

/** The bundle has pod.js next to cli.js. From source it is the other app's entry point, run with the same loader. */
export function locateProgram(
  url: string,
  node: { readonly execPath: string; readonly execArgv: readonly string[] },
): Program {
  const fromSource = url.endsWith(".ts");
  const pod = fileURLToPath(new URL(fromSource ? "../../runtime/src/main.ts" : "./pod.js", url));
  const options = fromSource ? node.execArgv : [];
  const server = fileURLToPath(new URL(fromSource ? "../../server/src/main.ts" : "./server.js", url));
  return {
    url,
    pod: (args) => [node.execPath, ...options, pod, ...args],
    server: (args) => ({ file: server, argv: [node.execPath, ...options, server, ...args] }),
  };
}
