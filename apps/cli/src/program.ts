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
  const options = fromSource ? node.execArgv : [];
  // most commands start no program, and a path takes half a millisecond
  const pathOf = (source: string, bundle: string) => fileURLToPath(new URL(fromSource ? source : bundle, url));
  return {
    url,
    pod: (args) => [node.execPath, ...options, pathOf("../../runtime/src/main.ts", "./pod.js"), ...args],
    server: (args) => {
      const file = pathOf("../../server/src/main.ts", "./server.js");
      return { file, argv: [node.execPath, ...options, file, ...args] };
    },
  };
}
