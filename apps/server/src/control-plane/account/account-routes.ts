import type { ServerInfo } from "@appdb/contract/routes/control";
import { VERSION } from "@appdb/contract/version";
import type { ServerConfig } from "../../config/config.ts";
import {
  type AccountDeps,
  beginFactor,
  changePassword,
  confirmPerson,
  disableFactor,
  enableFactor,
  showSecurity,
} from "../../identity/account-security.ts";
import { OIDC_PROVIDER } from "../../identity/auth.ts";
import { type DeviceDeps, showDevice } from "../../identity/device.ts";
import { person } from "../../identity/person.ts";
import { type SetUpDeps, setUp } from "../../identity/set-up.ts";
import { hasNoUser } from "../../identity/sign-up.ts";
import type { ControlRoutes, FindOrg } from "../../requests/checked-route.ts";
import { listSessions, revokeSession, switchSession } from "./sessions.ts";
import { toWhoami } from "./whoami.ts";

export interface AccountRoutesDeps extends Omit<AccountDeps, "confirm_s">, DeviceDeps, SetUpDeps {
  readonly findOrg: FindOrg;
  readonly config: Pick<ServerConfig, "identity" | "oidc" | "sign_up">;
}

/** Adds the routes by which a caller asks about itself and the server. */
export function addAccountRoutes(routes: ControlRoutes, deps: AccountRoutesDeps): void {
  let hasUser = false;
  routes.add("service", async (): Promise<ServerInfo> => {
    // the first account stays, so a positive answer is final
    hasUser ||= !(await hasNoUser(deps.db));
    return {
      version: VERSION,
      sign_up: hasUser ? deps.config.sign_up : "first",
      mail: deps.mail !== undefined,
      oidc: deps.config.oidc === undefined ? [] : [{ id: OIDC_PROVIDER, name: deps.config.oidc.name }],
      dashboard_url: deps.site.url,
    };
  });
  routes.add("whoami", async ({ principal }) => toWhoami(deps.db, principal));
  routes.add("setUp", async ({ body, client, reply }) => {
    const { principal, set_cookie: setCookie } = await setUp(deps, body, client);
    reply.header("set-cookie", setCookie);
    return toWhoami(deps.db, principal);
  });
  routes.add("sessionList", async ({ principal, query }) => listSessions(deps.db, person(principal), query));
  routes.add("sessionRevoke", async ({ principal, params, client }) => {
    await revokeSession(deps, person(principal), params.id, client);
  });
  routes.add("sessionSwitch", async ({ principal, body }) => {
    const switched = await switchSession(deps, person(principal), body.organization);
    return toWhoami(deps.db, switched);
  });
  const account = { ...deps, confirm_s: deps.config.identity.confirm_s };
  routes.add("accountShow", async ({ principal }) => showSecurity(account, person(principal)));
  routes.add("passwordChange", async ({ principal, body, client }) =>
    changePassword(account, person(principal), body, client),
  );
  routes.add("sessionConfirm", async ({ principal, body }) => confirmPerson(account, person(principal), body));
  routes.add("factorBegin", async ({ principal, body }) => beginFactor(account, person(principal), body.password));
  routes.add("factorEnable", async ({ principal, body, client }) =>
    enableFactor(account, person(principal), body.code, client),
  );
  routes.add("factorDisable", async ({ principal, body, client }) =>
    disableFactor(account, person(principal), body, client),
  );
  routes.add("deviceShow", async ({ principal, params, client }) =>
    showDevice(deps, person(principal), params.code, client),
  );
}
