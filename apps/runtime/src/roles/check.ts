import { text } from "node:stream/consumers";
import { toProblem } from "@appdb/contract/errors";
import { manifestSchema } from "@appdb/contract/manifest";
import { checkManifest } from "@appdb/engine/endpoints/check-manifest";

/**
 * Checks the manifest on stdin without a database, and writes one JSON document: the problem, or null. A role of this
 * program because the engine is in it: the command stays small.
 */
export async function runCheck(): Promise<number> {
  const manifest = manifestSchema.parse(JSON.parse(await text(process.stdin)));
  const problem = await checkManifest(manifest).then(
    () => null,
    (error: unknown) => toProblem(error),
  );
  process.stdout.write(`${JSON.stringify(problem)}\n`);
  return 0;
}
