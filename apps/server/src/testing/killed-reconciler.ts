import { join } from "node:path";
import { createDiskBlobs } from "@appdb/system/blobs/disk-blobs";
import { Secret } from "@appdb/system/secret";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createRecordEvent } from "../audit/record-event.ts";
import { readServerConfig, SERVER_PATHS } from "../config/config.ts";
import { createNotifications } from "../database/notifications.ts";
import { openControlDatabase } from "../database/pool.ts";
import { createKeySnapshots } from "../edge/key-snapshots.ts";
import { startReconciler } from "../reconciler/reconciler.ts";
import { createEnvelope } from "../secrets/envelope.ts";
import { toMasterKey } from "../secrets/master-key.ts";
import { createTestMachine } from "./test-machine.ts";

/**
 * A reconciler in its own process that stops at a step, prints it and waits to be killed. Arguments: the dsn, the home
 * of the test's machine, the step.
 */
const [, , dsn, home, wanted] = process.argv;
if (dsn === undefined || home === undefined || wanted === undefined) {
  throw new Error("usage: killed-reconciler.ts <dsn> <home> <step>");
}
const log = createSilentLog();
const { db, pool } = openControlDatabase(dsn, log);
const masterKey = toMasterKey(new Secret(Buffer.alloc(32, 7).toString("base64")));
const notifications = createNotifications(pool.options, log);
await startReconciler({
  config: readServerConfig({ SERVICE_HOME: home, SERVICE_DATABASE_URL: dsn }),
  db,
  pool_options: pool.options,
  log,
  envelope: createEnvelope(masterKey),
  notifications,
  snapshots: createKeySnapshots({ db, log, notifications, master_key: masterKey }),
  allow_private: false,
  recordEvent: createRecordEvent(async () => undefined),
  machine: createTestMachine(home),
  blobs: createDiskBlobs(join(home, SERVER_PATHS.blobs)),
  reconcileStepDone: async (step) => {
    if (step !== wanted) return;
    process.stdout.write(`${step}\n`);
    await new Promise(() => undefined);
  },
});
process.stdout.write("started\n");
