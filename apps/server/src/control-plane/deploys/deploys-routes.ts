import { endOf } from "@appdb/http/mount-api";
import type { RecordEvent } from "../../audit/event.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { findRow } from "../databases/databases-store.ts";
import type { FindPodDeps } from "../databases/find-pod.ts";
import { type PlanBoundsDeps, planBounds } from "../databases/plan-bounds.ts";
import { checkNewBuild } from "../databases/read-plan.ts";
import { beginPreparation } from "../preparations/preparations.ts";
import { checkFormerReleases } from "./check-former-releases.ts";
import { beginDeploy, endDeploy, keepAlive } from "./deploys-store.ts";
import { planRollback, rollBackDeploy } from "./roll-back-deploy.ts";

export type DeployRouteDeps = PlanBoundsDeps & FindPodDeps & { readonly recordEvent: RecordEvent };

export function addDeployRoutes(routes: ControlRoutes, deps: DeployRouteDeps): void {
  const { recordEvent } = deps;
  const plans = planBounds(deps);
  routes.changePrepared(
    "preparationBegin",
    async ({ org, params, body }) => {
      const row = await findRow(deps.db, org.id, params.db);
      await checkNewBuild(deps.db, org, { ...plans, row, environment: body.environment });
    },
    async (call, tx) => beginPreparation({ ...plans, tx, recordEvent }, call, call.params.db, call.body),
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
  routes.changePrepared(
    "deployRollbackPlan",
    async ({ org, params, reply }) => checkFormerReleases(deps, org, params.db, endOf(reply)),
    async (call, tx, previous) => planRollback({ tx, recordEvent }, call, call.params.db, previous),
  );
  routes.changePrepared(
    "deployRollback",
    async ({ org, params, reply }) => checkFormerReleases(deps, org, params.db, endOf(reply)),
    async (call, tx, previous) => {
      const request = { database: call.params.db, deploy: call.body.deploy };
      return await rollBackDeploy({ ...plans, tx, recordEvent }, call, request, previous);
    },
  );
}
