import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { safePath } from "../../safe-path.ts";

/** Goes on as another person than before: nothing that was read for the last one stays. */
export function useEnter(): (next?: string) => Promise<void> {
  const queries = useQueryClient();
  const router = useRouter();
  return async (next) => {
    queries.clear();
    await router.invalidate();
    router.history.push(safePath(next));
  };
}
