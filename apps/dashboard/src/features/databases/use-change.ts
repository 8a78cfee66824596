import type { CallOptions } from "@appdb/contract/clients/client";
import type { Database, DatabaseChange } from "@appdb/contract/routes/control-databases";
import { useQueryClient } from "@tanstack/react-query";
import type { Api } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import { type Action, useAction } from "../../api/use-action.ts";

/** A change to a database, whose answer is shown at once. */
export function useChange<Input>(
  { organization, name }: Database,
  perform: (api: Api, input: Input, options: CallOptions) => Promise<DatabaseChange>,
  onDone?: () => void,
): Action<Input, DatabaseChange> {
  const queries = useQueryClient();
  return useAction(perform, {
    changes: [KEYS.databases(organization), KEYS.operations(organization)],
    onDone: ({ database }) => {
      queries.setQueryData(KEYS.database(organization, name), database);
      onDone?.();
    },
  });
}
