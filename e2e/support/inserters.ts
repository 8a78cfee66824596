/** An application whose service `ingest` accepts the rows of `startInserters` at `/docs`. */
export const INSERTED_APP = `import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def shout(text: str) -> str:
    return text.upper()


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    token: db.String
    shout = shout(token)
    size = token.len()


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.token], outputs=[Docs.id, Docs.token, Docs.shout, Docs.size])
`;

export interface Row {
  readonly id: string;
  readonly token: string;
  readonly shout: string;
  readonly size: number;
}

/** Result of every sent row. Each token is sent once, in one request. */
export interface Outcome {
  /** Answered 200, with the answer's content. */
  readonly acknowledged: Map<string, Row>;
  /** Codes of refusals that guarantee that nothing was stored. */
  readonly refused: Map<string, string>;
  /** No answer, or `commit_unknown`: stored or not. */
  readonly unknown: Set<string>;
}

export interface Inserters {
  readonly outcome: Outcome;
  stop(): Promise<Outcome>;
}

const TIMEOUT_MS = 60_000;
/** Pause after a row that was not accepted. */
const RETRY_MS = 20;

/**
 * Starts clients that each insert rows one at a time until they are stopped. Their pauses leave processor time for the
 * observed work.
 */
export function startInserters(
  url: string,
  clients: number,
  headers: Record<string, string> = {},
  pauseMs = 0,
): Inserters {
  const outcome: Outcome = { acknowledged: new Map(), refused: new Map(), unknown: new Set() };
  let going = true;
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let row = 0; going; row += 1) {
      const token = `client ${client} row ${row} é€😀`;
      const answered = await insert(url, headers, token, outcome);
      const waitMs = answered ? pauseMs : Math.max(pauseMs, RETRY_MS);
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  });
  return {
    outcome,
    stop: async () => {
      going = false;
      await Promise.all(running);
      return outcome;
    },
  };
}

async function insert(url: string, headers: Record<string, string>, token: string, outcome: Outcome): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ token }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = (await answer.json()) as Row & { code: string };
    if (answer.status === 200) outcome.acknowledged.set(token, body);
    else if (body.code === "commit_unknown") outcome.unknown.add(token);
    else outcome.refused.set(token, body.code);
    return answer.status === 200;
  } catch {
    // the connection broke, or nothing listens: the test finds out whether the row was stored
    outcome.unknown.add(token);
    return false;
  }
}
