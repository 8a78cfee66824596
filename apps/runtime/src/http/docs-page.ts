import { createDocsFiles, DOCS_PATHS } from "@appdb/http/docs-files";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";
import type { FastifyInstance } from "fastify";

/**
 * Adds the page that shows a service's routes, `<mount>/docs`, with everything it needs: it loads without the internet.
 * A person's own GET of that path wins; their POST stands beside it. Gives the paths that it added.
 */
export function addDocsPage(server: FastifyInstance, { mount }: { readonly mount: string }): readonly string[] {
  if (server.hasRoute({ method: "GET", url: `${mount}/docs` })) return [];
  const files = createDocsFiles();
  for (const path of DOCS_PATHS) {
    server.get(mount + path, async (request, reply) => {
      const file = await files.read(path);
      return reply.headers({ ...file?.headers, [REQUEST_ID_HEADER]: request.id }).send(file?.body);
    });
  }
  return DOCS_PATHS.map((path) => mount + path);
}
