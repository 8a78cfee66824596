import { createDocsFiles, DOCS_PATHS } from "@appdb/http/docs-files";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";
import type { FastifyInstance } from "fastify";

/**
 * Adds the API documentation page `<mount>/docs` with all its files, so that it works offline. A GET route of the
 * application on that path takes precedence; other methods of it coexist. Returns the added paths.
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
