import { text } from "node:stream/consumers";
import { toProblem } from "@appdb/contract/errors";
import { manifestSchema } from "@appdb/contract/manifest";
import { checkManifest } from "@appdb/engine/endpoints/check-manifest";
import { checkDestinations } from "../media/check-destinations.ts";

/**
 * Checks the manifest on stdin without a database. Prints one JSON document: the problem, or null. It is a role of this
 * program because that contains the engine; the command stays small.
 */
export async function runCheck(): Promise<number> {
  const manifest = manifestSchema.parse(JSON.parse(await text(process.stdin)));
  const problem = await checkManifest(manifest)
    .then(() => checkDestinations(manifest, undefined))
    .then(
      () => null,
      (error: unknown) => toProblem(error),
    );
  process.stdout.write(`${JSON.stringify(problem)}\n`);
  return 0;
}
