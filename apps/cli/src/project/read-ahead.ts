import { readCliConfig } from "../config/config.ts";
import type { Application, ApplicationInput } from "../context.ts";
import type { Program } from "../program.ts";
import { readApplication } from "./read-application.ts";

/** An application that is being read before anybody asked for it. */
export interface Ahead {
  readonly input: ApplicationInput;
  readonly reading: Promise<Application>;
  /** Takes what there is to tell the person, what was said so far included. */
  listen(note: (text: string) => void): void;
}

/** Begins to read an application. Nothing fails here: whoever asks for it gets its error, a command that does not ask has another one to tell. */
export function readAhead(
  input: ApplicationInput,
  deps: { readonly node: NodeJS.Process; readonly program: Program; readonly signal: AbortSignal },
): Ahead {
  const said: string[] = [];
  let note: (text: string) => void = (text) => said.push(text);
  const { node, program, signal } = deps;
  const out = { note: (text: string) => note(text) };
  const reading = readApplication({ config: readCliConfig(node.env), cwd: node.cwd(), out, program, signal }, input);
  reading.catch(() => undefined);
  return {
    input,
    reading,
    listen(to) {
      for (const text of said.splice(0)) to(text);
      note = to;
    },
  };
}
