import { setImmediate as nextTurn } from "node:timers/promises";
import type { LocalClient } from "@appdb/contract/client";
import type { LocalTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Application, Context } from "../../context.ts";

export interface PlannedSchema {
  readonly plan: SchemaPlan;
  readonly app: Application;
  readonly client: LocalClient;
}

/** Reads the application and asks the daemon, both at once: what an update would do to the target's tables. */
export async function planSchema(
  ctx: Pick<Context, "readApplication" | "daemon" | "signal">,
  input: {
    readonly file: string;
    readonly target: LocalTarget;
    readonly python: string | undefined;
    /** Also plan to recompute what former code of the functions computed. */
    readonly recompute: boolean;
  },
): Promise<PlannedSchema> {
  const [app, client] = await readBoth(ctx, input);
  const { manifest, runtime } = app;
  const request = { target: input.target.text, manifest, runtime, recompute: input.recompute };
  return { plan: await client.schemaPlan(request, { signal: ctx.signal }), app, client };
}

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
