import type { CallOptions } from "@appdb/contract/clients/client";
import { AppError } from "@appdb/contract/errors";
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { type Api, useApi } from "./api.tsx";
import { type Attempt, nextAttempt } from "./attempt.ts";

export interface Action<Input, Result> {
  run(input: Input): void;
  reset(): void;
  readonly pending: boolean;
  readonly done: boolean;
  readonly error: Error | null;
  readonly result: Result | undefined;
}

interface ActionOptions<Input, Result> {
  /** Queries that the action invalidates. */
  readonly changes?: readonly QueryKey[];
  readonly onDone?: (result: Result, input: Input) => void;
}

/** A person's action. The server runs it once, even if it is repeated after a lost answer. */
export function useAction<Input, Result>(
  perform: (api: Api, input: Input, options: CallOptions) => Promise<Result>,
  { changes = [], onDone }: ActionOptions<Input, Result> = {},
): Action<Input, Result> {
  const api = useApi();
  const queries = useQueryClient();
  const attempt = useRef<Attempt | undefined>(undefined);
  const mutation = useMutation({
    mutationFn: async (input: Input) => {
      attempt.current = nextAttempt(attempt.current, input);
      const options = { idempotency_key: attempt.current.key };
      try {
        return await perform(api, input, options);
      } catch (error) {
        const needsConfirmation = error instanceof AppError && error.code === "reauthentication_required";
        if (!needsConfirmation || !(await api.confirmation.ask())) throw error;
        return await perform(api, input, options);
      }
    },
    onSuccess: async (result, input) => {
      attempt.current = undefined;
      onDone?.(result, input);
      await Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
  });
  return {
    run: (input) => {
      if (!mutation.isPending) mutation.mutate(input);
    },
    reset: mutation.reset,
    pending: mutation.isPending,
    done: mutation.isSuccess,
    error: mutation.error,
    result: mutation.data,
  };
}
