import { setImmediate as nextTurn } from "node:timers/promises";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import type { Application, Context } from "../context.ts";

/** Reads the application and connects to the daemon concurrently. */
export async function readBoth(
  ctx: Pick<Context, "readApplication" | "daemon">,
  input: { readonly file: string; readonly python: string | undefined },
): Promise<[Application, LocalClient]> {
  const reading = ctx.readApplication({ file: input.file, python: input.python });
  // Python is slowest, so it starts before the client of the daemon is loaded.
  const connecting = nextTurn().then(() => ctx.daemon.ensure());
  // An error of the file is reported first. The daemon's would appear again with the next command.
  connecting.catch(() => undefined);
  return [await reading, await connecting];
}
