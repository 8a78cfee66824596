import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { ApiProvider, createApi } from "./api/api.tsx";
import { isSignedOut, KEYS } from "./api/queries.ts";
import { createDashboardRouter } from "./router.tsx";

/** The dashboard with its parts: the API, what was read from it, and the pages. */
export function compose() {
  const api = createApi();
  const queries = new QueryClient({
    queryCache: new QueryCache({
      // the session has ended meanwhile: the guard of the pages leads to the sign-in
      onError: (error) => {
        if (!isSignedOut(error)) return;
        queries.setQueryData(KEYS.whoami, null);
        void router.invalidate();
      },
    }),
    defaultOptions: {
      // an answer of the server is an answer; what got lost on the way is asked for once more
      queries: { retry: (failures, error) => failures < 1 && isLost(error), staleTime: 2_000 },
    },
  });
  const router = createDashboardRouter({ api, queries });
  return (
    <ApiProvider value={api}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </ApiProvider>
  );
}

function isLost(error: Error): boolean {
  return "code" in error && error.code === "server_unreachable";
}
