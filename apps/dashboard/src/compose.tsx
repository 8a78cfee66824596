import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { ApiProvider, createApi } from "./api/api.tsx";
import { isSignedOut, KEYS } from "./api/queries.ts";
import { createDashboardRouter } from "./router.tsx";

/** The dashboard with its parts: the API, what was read from it, and the pages. */
export function compose() {
  const api = createApi();
  // the session has ended meanwhile: the guard of the pages leads to the sign-in
  const onError = (error: Error) => {
    if (!isSignedOut(error)) return;
    queries.setQueryData(KEYS.whoami, null);
    void router.invalidate();
  };
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        // an answer of the server is an answer; what got lost on the way is asked for once more
        retry: (failures, error) => failures < 1 && isLost(error),
        staleTime: 2_000,
        // a server on this very machine is there without a network, too
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
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
