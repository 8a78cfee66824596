import { sql } from "kysely";
import { forgetPreparations } from "../control-plane/preparations/preparations.ts";
import { forgetDeliveries } from "../control-plane/webhooks/due-deliveries.ts";
import { collectBlobs } from "./cleanup/collect-blobs.ts";
import { collectTrees } from "./cleanup/collect-trees.ts";
import { collectUnusedImages } from "./cleanup/collect-unused-images.ts";
import type { ReconcileDeps } from "./core/reconcile-deps.ts";
import { removeOrphanStorage } from "./databases/resume-databases.ts";
import { removeOrphanServices } from "./services/resume-services.ts";

const LINES = "30 days";

/** Removes unused images, project files, blobs and storage, and old lines of operations. */
export async function collect(deps: ReconcileDeps): Promise<void> {
  const images = await collectUnusedImages(deps);
  const trees = await collectTrees(deps);
  const blobs = await collectBlobs(deps);
  await forgetPreparations(deps.db);
  await forgetDeliveries(deps.db);
  const databases = await removeOrphanStorage(deps);
  const services = await removeOrphanServices(deps);
  await sql`with old as (select id from control.operations where line_bytes > 0 and ended_at < now() - ${LINES}::interval),
    gone as (delete from control.operation_lines where operation_id in (select id from old))
    update control.operations set line_bytes = 0 where id in (select id from old)`.execute(deps.db);
  if (images + trees + blobs + databases + services > 0) {
    deps.log.info({ images, trees, blobs, databases, services }, "unused data was removed");
  }
}
