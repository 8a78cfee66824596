import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { ApiProvider, createApi } from "./api/api.tsx";
import { isSignedOut, KEYS } from "./api/queries.ts";
import { createDashboardRouter } from "./router.tsx";

/** The dashboard's composition: API, query cache and router. */
export function compose() {
  const api = createApi();
  // the session has ended: the pages' guard redirects to the sign-in
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
        // retry only requests without an answer, once
        retry: (failures, error) => failures < 1 && isConnectionLost(error),
        staleTime: 2_000,
        // a local server is reachable without a network
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

function isConnectionLost(error: Error): boolean {
  return "code" in error && error.code === "server_unreachable";
}
