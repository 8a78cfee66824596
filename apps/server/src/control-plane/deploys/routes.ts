import type { ControlRoutes } from "../../http/checked-route.ts";
import type { RecordEvent } from "../events/event.ts";
import { planRollback, rollBackDeploy } from "./roll-back-deploy.ts";
import { beginDeploy, endDeploy } from "./store.ts";

export function addDeployRoutes(routes: ControlRoutes, { recordEvent }: { readonly recordEvent: RecordEvent }): void {
  routes.change("deployBegin", async (call, tx) =>
    beginDeploy({ tx, recordEvent }, call, { database: call.params.db, app_file: call.body.app_file }),
  );
  routes.change("deployEnd", async (call, tx) =>
    endDeploy({ tx, recordEvent }, call, { database: call.params.db, id: call.params.id, state: call.body.state }),
  );
  routes.change("deployRollbackPlan", async (call, tx) => planRollback({ tx, recordEvent }, call, call.params.db));
  routes.change("deployRollback", async (call, tx) =>
    rollBackDeploy({ tx, recordEvent }, call, { database: call.params.db, deploy: call.body.deploy }),
  );
}
