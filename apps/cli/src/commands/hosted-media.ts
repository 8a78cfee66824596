import { AppError } from "@appdb/contract/errors";
import { isMediaUri, parseMediaUri } from "@appdb/contract/media-uri";
import { INPUT_DESTINATION, MEDIA_SOURCES, OUTPUT_DESTINATION, readSources } from "@appdb/contract/media-variables";
import type { DatabaseUri } from "@appdb/contract/names";
import type { Application, Context } from "../context.ts";

/** A media store of a hosted database, and the setting that names it. */
interface NamedStore {
  readonly setting: string;
  readonly store: string;
  readonly database: DatabaseUri;
}

/**
 * The same application with its access to the media stores of hosted databases, if it or the environment names any.
 * @throws not_signed_in and other errors of a store that cannot be used, with the setting that names it
 */
export async function withHostedMedia(
  ctx: Pick<Context, "config" | "control" | "signal">,
  app: Application,
): Promise<Application> {
  const stores = findStores(app);
  let runtime = app.runtime;
  for (const { database, setting, store } of stores) {
    try {
      const { client, credential, server } = await (await ctx.control()).open();
      const params = { org: database.organization, db: database.database };
      await client.call("mediaList", { params, query: { limit: 1 } }, { signal: ctx.signal });
      const key = credential.kind === "api_key" ? credential.headers["x-api-key"] : undefined;
      const hosted = { url: server.url, url_source: server.source, home: ctx.config.home };
      runtime = { ...app.runtime, hosted: key === undefined ? hosted : { ...hosted, api_key: key } };
    } catch (error) {
      throw explained(error, setting, store);
    }
  }
  return { ...app, runtime };
}

/** Each store once. Stores of other kinds are checked by the process that opens them. */
function findStores({ manifest, runtime }: Application): NamedStore[] {
  const { [INPUT_DESTINATION]: input, [OUTPUT_DESTINATION]: output, [MEDIA_SOURCES]: sources } = runtime.env;
  const named = [
    ...[input ?? ""].map((store) => ({ setting: INPUT_DESTINATION, store })),
    ...[output ?? ""].map((store) => ({ setting: OUTPUT_DESTINATION, store })),
    ...readSources(sources).map((store) => ({ setting: MEDIA_SOURCES, store })),
    ...manifest.tables.flatMap(({ columns, name }) =>
      columns.map((column) => ({
        setting: `destination= of ${name}.${column.name}`,
        store: column.type.destination ?? "",
      })),
    ),
  ];
  const found = new Map<string, NamedStore>();
  for (const { setting, store } of named) {
    if (!isMediaUri(store)) continue;
    const uri = parseMediaUri(store);
    if ("organization" in uri.database && !found.has(uri.store)) {
      found.set(uri.store, { setting, store: uri.store, database: uri.database });
    }
  }
  return [...found.values()];
}

function explained(error: unknown, setting: string, store: string): unknown {
  if (!(error instanceof AppError) || error.code === "interrupted") return error;
  const { cause, code, hint, message, meta } = error;
  return new AppError(code, {
    detail: `${setting} names ${store}, which cannot be used: ${message}`,
    hint,
    meta: { ...meta, setting, store },
    cause,
  });
}
