import { setImmediate as nextTurn } from "node:timers/promises";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import type { Application, Context } from "../context.ts";

/** The application and the daemon, neither waiting for the other. */
export async function readBoth(
  ctx: Pick<Context, "readApplication" | "daemon">,
  input: { readonly file: string; readonly python: string | undefined },
): Promise<[Application, LocalClient]> {
  const reading = ctx.readApplication({ file: input.file, python: input.python });
  // Python takes longest, so it is started before anything is loaded for talking to the daemon.
  const connecting = nextTurn().then(() => ctx.daemon.ensure());
  // An error of the file is told first and at once; that of the daemon would come again with the next command.
  connecting.catch(() => undefined);
  return [await reading, await connecting];
}
