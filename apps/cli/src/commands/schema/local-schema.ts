import type { LocalTarget } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { readBoth } from "../read-both.ts";
import type { SchemaTarget, SchemaTargetInput } from "./schema-target.ts";

/** A local database: the file is read here, and the daemon has the tables. */
export async function openLocalSchema(
  ctx: Pick<Context, "readApplication" | "daemon" | "signal">,
  input: Pick<SchemaTargetInput, "file" | "python">,
  { text: target }: LocalTarget,
): Promise<SchemaTarget> {
  const [{ manifest, runtime }, client] = await readBoth(ctx, input);
  const { signal } = ctx;
  return {
    worker: "the daemon",
    plan: ({ recompute, take_over: takeOver = false }) =>
      client.schemaPlan({ target, manifest, runtime, recompute, take_over: takeOver }, { signal }),
    apply: (catalogVersion, change, onProgress) =>
      client.schemaApply(
        { target, manifest, runtime, ...change, catalog_version: catalogVersion },
        { signal, onProgress },
      ),
  };
}
