import type { HostedService, ServiceCallAnswer } from "@appdb/contract/routes/control-services";
import type { Api } from "../../api/api.tsx";
import { pause } from "../../api/pause.ts";
import { type Action, useAction } from "../../api/use-action.ts";
import type { BuiltCall } from "./build-call.ts";
import type { CallKey } from "./use-call-key.ts";

/** A gateway may not have a new key yet within this time. */
const NEW_MS = 3_000;
const PAUSE_MS = 200;

interface CallInput {
  readonly call: BuiltCall;
  readonly key: CallKey;
}

/** The request and the answer of a call. */
export interface Called {
  readonly call: BuiltCall;
  readonly answer: ServiceCallAnswer;
}

/** Sends requests to a service through the control plane, like a client. */
export function useCall(service: HostedService): Action<CallInput, Called> {
  return useAction(async (api, { call, key }: CallInput) => {
    for (;;) {
      const answer = await send(api, service, call, key);
      const isNew = key.created !== null && Date.now() - key.created.at < NEW_MS;
      // it was refused before it reached the service, so a retry is safe
      if (answer.status !== 401 || !isNew) return { call, answer };
      await pause(PAUSE_MS, new AbortController().signal);
    }
  });
}

async function send(api: Api, service: HostedService, call: BuiltCall, key: CallKey): Promise<ServiceCallAnswer> {
  const params = { org: service.organization, db: service.database, service: service.name };
  return await api.control.call("serviceCall", { params, body: { ...call, api_key: key.text } });
}
