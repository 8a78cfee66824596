import type { Operation } from "@appdb/contract/routes/control";
import { useState } from "react";
import { useApi } from "../../api/api.tsx";
import { ProblemAlert } from "../../ui/alert.tsx";
import { downloadLog } from "../logs/download-log.ts";
import { LogView } from "../logs/log-view.tsx";
import { useLog } from "../logs/use-log.ts";

interface OperationLogProps {
  readonly org: string;
  readonly operation: Operation;
  readonly tall?: boolean;
}

/** The output of an operation, for example of a build, also while it runs. */
export function OperationLog({ org, operation, tall = false }: OperationLogProps) {
  const { control } = useApi();
  const [error, setError] = useState<Error | null>(null);
  const params = { org, id: operation.id };
  const log = useLog({
    key: operation.id,
    is_numbered: true,
    is_live: false,
    open: (client, after, signal) => client.lines("operationLog", { params, query: { after, follow: "1" } }, signal),
  });
  const download = () => {
    setError(null);
    const lines = control.lines("operationLog", { params }, new AbortController().signal);
    downloadLog(lines, `operation-${operation.id}.log`).catch(setError);
  };
  return (
    <div className="grid grid-cols-1 gap-3">
      {error && <ProblemAlert error={error} />}
      <LogView
        label={`Output of the operation ${operation.kind}`}
        log={log}
        tall={tall}
        empty="It printed nothing."
        onDownload={download}
      />
    </div>
  );
}
