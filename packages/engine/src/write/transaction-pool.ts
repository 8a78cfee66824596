import type { SqlConnection, SqlPool, SqlTransaction } from "../ports.ts";

const SAVEPOINT = "one_write";

/**
 * A pool whose statements all run in one transaction, in sequence. A statement that PostgreSQL refuses leaves the effects
 * of the others, so that pipelines can divide and repeat it. The caller ends the transaction.
 */
export function poolOfTransaction(connection: SqlTransaction): SqlPool {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: (connection: SqlTransaction) => Promise<T>): Promise<T> => {
    const turn = last.then(() => saved(connection, work));
    last = turn.catch(() => undefined);
    return turn;
  };
  const one: SqlConnection = { query: (statement) => inTurn(() => connection.query(statement)) };
  return {
    ...one,
    withConnection: (work) => work(one),
    transaction: (work) => inTurn(work),
    listen: () => Promise.reject(new TypeError("A transaction gets no notifications.")),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function saved<T>(connection: SqlTransaction, work: (connection: SqlTransaction) => Promise<T>): Promise<T> {
  await connection.query({ text: `savepoint ${SAVEPOINT}` });
  try {
    const result = await work(connection);
    await connection.query({ text: `release savepoint ${SAVEPOINT}` });
    return result;
  } catch (error) {
    // after a lost connection the error that says so counts
    await connection
      .query({ text: `rollback to savepoint ${SAVEPOINT}; release savepoint ${SAVEPOINT}` })
      .catch(() => undefined);
    throw error;
  }
}
