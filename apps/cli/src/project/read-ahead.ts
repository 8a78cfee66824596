import { readCliConfig } from "../config/config.ts";
import type { Application, ApplicationInput } from "../context.ts";
import type { Program } from "../program.ts";
import { readApplication } from "./read-application.ts";

/** An application that is read before it is requested. */
export interface Ahead {
  readonly input: ApplicationInput;
  readonly reading: Promise<Application>;
  /** Passes on messages for the user, including earlier ones. */
  listen(note: (text: string) => void): void;
}

/**
 * Starts reading an application. Never fails here: a caller that needs the application gets the error, and other
 * commands report their own.
 */
export function readAhead(
  input: ApplicationInput,
  deps: { readonly node: NodeJS.Process; readonly program: Program; readonly signal: AbortSignal },
): Ahead {
  const lines: string[] = [];
  let note: (text: string) => void = (text) => lines.push(text);
  const { node, program, signal } = deps;
  const out = { note: (text: string) => note(text) };
  const reading = readApplication({ config: readCliConfig(node.env), cwd: node.cwd(), out, program, signal }, input);
  reading.catch(() => undefined);
  return {
    input,
    reading,
    listen(to) {
      for (const text of lines.splice(0)) to(text);
      note = to;
    },
  };
}
