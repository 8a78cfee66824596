import { sql } from "kysely";
import { forgetPreparations } from "../control-plane/deploys/preparations.ts";
import { collectBlobs } from "./collect-blobs.ts";
import { collectTrees } from "./collect-trees.ts";
import { collectUnusedImages } from "./collect-unused-images.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { removeOrphanStorage } from "./resume-databases.ts";
import { removeOrphanServices } from "./resume-services.ts";

const LINES = "30 days";

/** Removes images, project files, blobs and storage that nothing uses any more, and what operations said long ago. */
export async function collect(deps: ReconcileDeps): Promise<void> {
  const images = await collectUnusedImages(deps);
  const trees = await collectTrees(deps);
  const blobs = await collectBlobs(deps);
  await forgetPreparations(deps.db);
  const databases = await removeOrphanStorage(deps);
  const services = await removeOrphanServices(deps);
  await sql`delete from control.operation_lines l using control.operations p
    where p.id = l.operation_id and p.ended_at < now() - ${LINES}::interval`.execute(deps.db);
  if (images + trees + blobs + databases + services > 0) {
    deps.log.info({ images, trees, blobs, databases, services }, "what nothing uses any more was removed");
  }
}
