import type { HostedService } from "@appdb/contract/routes/control-services";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KEYS } from "../../api/queries.ts";
import { type Action, useAction } from "../../api/use-action.ts";

const LIFE_S = 3_600;

/** The key of a form. It exists only in this page's memory until the page is reloaded. */
export interface CallKey {
  readonly text: string;
  /** Set if the key was created for the form. Null if it was pasted. */
  readonly created: { readonly name: string; readonly at: number; readonly expires_at: string | null } | null;
}

export interface CallKeyState {
  readonly key: CallKey;
  set(text: string): void;
  /** Creates a key for this service only, for one hour. */
  readonly make: Action<undefined, unknown>;
}

const NONE: CallKey = { text: "", created: null };

/** The key shared by a service's forms. */
export function useCallKey({ database, name, organization }: HostedService): CallKeyState {
  const queries = useQueryClient();
  const storageKey = ["call_key", organization, database, name];
  const { data = NONE } = useQuery({
    queryKey: storageKey,
    queryFn: () => queries.getQueryData<CallKey>(storageKey) ?? NONE,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const keep = (key: CallKey) => void queries.setQueryData(storageKey, key);
  const make = useAction(
    (api, _: undefined, options) => {
      const grants = [`access:cloud://${organization}:${database}/services/${name}`];
      const body = { name: keyName(name), grants, expires_in_s: LIFE_S };
      return api.control.call("keyCreate", { params: { org: organization }, body }, options);
    },
    {
      changes: [KEYS.keys(organization)],
      onDone: (created) =>
        keep({
          text: created.api_key,
          created: { name: created.name, at: Date.now(), expires_at: created.expires_at },
        }),
    },
  );
  return { key: data, set: (text) => keep({ text, created: null }), make };
}

const NAME_CHARACTERS = 40;

/** `form-ingest-3f9a2c`, listed among the keys until it ends. */
function keyName(service: string): string {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(3)), (byte) => byte.toString(16).padStart(2, "0"));
  return `form-${service.replaceAll("/", "-").slice(0, NAME_CHARACTERS)}-${random.join("")}`;
}
