import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../api/api.tsx";
import { DatabaseFrame } from "../features/databases/database-frame.tsx";
import { useDatabase } from "../features/databases/use-database.ts";
import { downloadLog } from "../features/logs/download-log.ts";
import { LOG_LEVELS, type LogLevel } from "../features/logs/log-lines.ts";
import { LogView } from "../features/logs/log-view.tsx";
import { useLog } from "../features/logs/use-log.ts";
import { ProblemAlert } from "../ui/alert.tsx";
import { Command } from "../ui/command.tsx";
import { SmallField, SmallSelect } from "../ui/small-fields.tsx";
import { ToggleButton } from "../ui/toggle-button.tsx";

const route = getRouteApi("/signed-in/orgs/$org/databases/$db/logs");

/** Number of lines at first, and the maximum of a download. */
const TAIL = 1_000;
const DOWNLOAD = 10_000;

const LEVEL_TITLES: Readonly<Record<LogLevel, string>> = {
  debug: "all",
  info: "info and above",
  warn: "warnings and errors",
  error: "errors",
};
const PERIODS = [
  { title: "any time", seconds: undefined, flag: "" },
  { title: "15 minutes", seconds: 900, flag: " --since 15m" },
  { title: "1 hour", seconds: 3_600, flag: " --since 1h" },
  { title: "1 day", seconds: 86_400, flag: " --since 1d" },
  { title: "1 week", seconds: 604_800, flag: " --since 7d" },
] as const;

/** The output of a database's pod or of its builds. The address contains the filter. */
export function LogsPage() {
  const { database, error } = useDatabase();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { control } = useApi();
  const [following, setFollowing] = useState(true);
  const [downloadError, setDownloadError] = useState<Error | null>(null);
  const { name, organization, uri } = database;
  const source = search.source === "build" ? "build" : "pod";
  const level = LOG_LEVELS.find((known) => known === search.level) ?? "debug";
  const period = PERIODS.find(({ seconds }) => String(seconds) === search.since) ?? PERIODS[0];
  const params = { org: organization, db: name };
  const logQuery = { source, since_s: period.seconds };
  const log = useLog({
    key: [organization, name, source, period.seconds, following].join(" "),
    is_numbered: false,
    is_live: following,
    open: (client, _, signal) =>
      client.lines(
        "databaseLogs",
        { params, query: { ...logQuery, tail: TAIL, follow: following ? "1" : "0" } },
        signal,
      ),
  });
  const change = (changed: Partial<typeof search>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  const download = () => {
    setDownloadError(null);
    const query = { ...logQuery, tail: DOWNLOAD };
    const lines = control.lines("databaseLogs", { params, query }, new AbortController().signal);
    downloadLog(lines, `${organization}-${name}-${source}.log`).catch(setDownloadError);
  };
  return (
    <DatabaseFrame database={database} error={error} about="logs">
      {downloadError && <ProblemAlert error={downloadError} />}
      <LogView
        label={source === "pod" ? "Log of the pod" : "Output of builds"}
        log={log}
        level={level}
        search={search.text ?? ""}
        tall
        empty={source === "pod" ? "The pod has no output." : "No image has been built."}
        onDownload={download}
        tools={
          <>
            <SmallSelect label="Of" value={source} onChange={(event) => change({ source: event.target.value })}>
              <option value="pod">the pod</option>
              <option value="build">builds</option>
            </SmallSelect>
            <SmallSelect label="Level" value={level} onChange={(event) => change({ level: event.target.value })}>
              {LOG_LEVELS.map((one) => (
                <option key={one} value={one}>
                  {LEVEL_TITLES[one]}
                </option>
              ))}
            </SmallSelect>
            <SmallSelect
              label="Since"
              value={search.since ?? ""}
              onChange={(event) => change({ since: event.target.value })}
            >
              {PERIODS.map(({ title, seconds }) => (
                <option key={title} value={seconds ?? ""}>
                  {title}
                </option>
              ))}
            </SmallSelect>
            <SmallField
              label="With the text"
              type="search"
              className="w-44"
              value={search.text ?? ""}
              onChange={(event) => change({ text: event.target.value })}
            />
            <ToggleButton
              small
              pressed={following}
              works={log.error === null}
              onToggle={() => setFollowing(!following)}
            >
              Follow
            </ToggleButton>
          </>
        }
      />
      <p>
        <Command
          text={`cli db logs ${uri}${source === "build" ? " --build" : ""}${following ? " -f" : ""}${period.flag}`}
        />
      </p>
    </DatabaseFrame>
  );
}
