import type { DatabaseOp, EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { diffEnvironment } from "@appdb/python-runtime/environments/environment";
import { shortenLines } from "./plan-files.ts";

/** An environment and its image. The hash is null for the base library alone. */
export interface PlannedImage {
  readonly hash: string | null;
  readonly document: EnvironmentDocument | null;
}

/**
 * Plans the change of the image. Undefined if the environment is the same. `is_built`: the organization has an image of
 * the new environment. `runs`: pods must restart to use it.
 */
export function planImage(
  before: PlannedImage,
  after: PlannedImage & { readonly document: EnvironmentDocument; readonly is_built: boolean },
  runs: boolean,
): DatabaseOp | undefined {
  if (before.hash === after.hash) return undefined;
  const diff = diffEnvironment(before.document, after.document);
  const isFirst = before.hash === null;
  const needsBuild = after.hash !== null && !after.is_built;
  const because = isFirst ? `from ${after.document.source ?? "the base library"}` : `${diff.parts.join(", ")} changed`;
  return {
    target: "image",
    op: needsBuild ? "build" : "change",
    severity: "additive",
    description: describe(after, because),
    lines: isFirst ? [] : shortenLines(diff.lines),
    requires_restart: runs,
    details: { from: before.hash, to: after.hash, parts: diff.parts },
  };
}

function describe(after: { readonly hash: string | null; readonly is_built: boolean }, because: string): string {
  if (after.hash === null) return `the image will be the base library alone: ${because}`;
  if (after.is_built) return `the image will be one that was built before: ${because}`;
  return `the image will be built: ${because}`;
}
