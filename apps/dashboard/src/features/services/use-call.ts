import type { HostedService, ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import type { Api } from "../../api/api.tsx";
import { pause } from "../../api/pause.ts";
import { type Action, useAction } from "../../api/use-action.ts";
import type { BuiltCall } from "./build-call.ts";
import type { CallKey } from "./use-call-key.ts";

/** Until then a gateway may not have heard of a key that was made. */
const NEW_MS = 3_000;
const PAUSE_MS = 200;

interface CallInput {
  readonly call: BuiltCall;
  readonly key: CallKey;
}

/** A call of a route: what was sent, and what came. */
export interface Called {
  readonly call: BuiltCall;
  readonly answer: ServiceCallAnswer;
}

/** Sends requests to a service as a client would, by the control plane. */
export function useCall(service: HostedService): Action<CallInput, Called> {
  return useAction(async (api, { call, key }: CallInput) => {
    for (;;) {
      const answer = await send(api, service, call, key);
      const isNew = key.made !== null && Date.now() - key.made.at < NEW_MS;
      // refused before it came to the service: nothing was done twice
      if (answer.status !== 401 || !isNew) return { call, answer };
      await pause(PAUSE_MS, new AbortController().signal);
    }
  });
}

async function send(api: Api, service: HostedService, call: BuiltCall, key: CallKey): Promise<ServiceCallAnswer> {
  const params = { org: service.organization, db: service.database, service: service.name };
  return await api.control.call("serviceCall", { params, body: { ...call, api_key: key.text } });
}
