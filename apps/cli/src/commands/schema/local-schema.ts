import type { LocalTarget } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { withHostedMedia } from "../hosted-media.ts";
import { readBoth } from "../read-both.ts";
import type { SchemaTarget, SchemaTargetInput } from "./schema-target.ts";

/** Opens a local database: the file is read here, and the daemon manages the tables. */
export async function openLocalSchema(
  ctx: Pick<Context, "config" | "control" | "daemon" | "readApplication" | "signal">,
  input: Pick<SchemaTargetInput, "file" | "python">,
  { text: target }: LocalTarget,
): Promise<SchemaTarget> {
  const [app, client] = await readBoth(ctx, input);
  const { manifest, runtime } = await withHostedMedia(ctx, app);
  const { signal } = ctx;
  return {
    worker: "the daemon",
    plan: async ({ recompute, take_over: takeOver = false }) => {
      const body = { target, manifest, runtime, recompute, take_over: takeOver };
      return (await client.call("schemaPlan", { body }, { signal })).plan;
    },
    apply: async (catalogVersion, change, onProgress) => {
      const body = { target, manifest, runtime, ...change, catalog_version: catalogVersion };
      return (await client.call("schemaApply", { body }, { signal, onProgress })).plan;
    },
  };
}
