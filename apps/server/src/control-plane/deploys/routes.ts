import type { ControlRoutes } from "../../http/checked-route.ts";
import { type PlanBoundsDeps, planBounds } from "../databases/plan-bounds.ts";
import type { RecordEvent } from "../events/event.ts";
import { beginPreparation } from "./preparations.ts";
import { planRollback, rollBackDeploy } from "./roll-back-deploy.ts";
import { beginDeploy, endDeploy, keepAlive } from "./store.ts";

export interface DeployRouteDeps extends PlanBoundsDeps {
  readonly recordEvent: RecordEvent;
}

export function addDeployRoutes(routes: ControlRoutes, deps: DeployRouteDeps): void {
  const { recordEvent } = deps;
  const plans = planBounds(deps);
  routes.change("preparationBegin", async (call, tx) =>
    beginPreparation({ ...plans, tx, recordEvent }, call, call.params.db, call.body),
  );
  routes.change("deployBegin", async (call, tx) =>
    beginDeploy({ tx, recordEvent }, call, { database: call.params.db, app_file: call.body.app_file }),
  );
  routes.change("deployAlive", async (call, tx) =>
    keepAlive({ tx, recordEvent }, call, { database: call.params.db, id: call.params.id }),
  );
  routes.change("deployEnd", async (call, tx) =>
    endDeploy({ tx, recordEvent }, call, { database: call.params.db, id: call.params.id, state: call.body.state }),
  );
  routes.change("deployRollbackPlan", async (call, tx) => planRollback({ tx, recordEvent }, call, call.params.db));
  routes.change("deployRollback", async (call, tx) =>
    rollBackDeploy({ tx, recordEvent }, call, { database: call.params.db, deploy: call.body.deploy }),
  );
}
