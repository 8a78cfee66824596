import { useState } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { fileFacts, fileName, isPlayable, type ShownFile } from "./shown-file.ts";
import { useLoadProblem } from "./use-load-problem.ts";

interface FileProps {
  readonly file: ShownFile;
}

/** A page of rows does not load larger pictures. */
const MAX_SMALL_BYTES = 10_000_000;

/** A file in a cell: a small picture, a player, or a link with what is known of it. */
export function FileCellView({ file }: FileProps) {
  const isLarge = file.kind === "image" && (file.bytes ?? 0) > MAX_SMALL_BYTES;
  if (isLarge || !isPlayable(file)) return <FileLink file={file} />;
  return <Player file={file} />;
}

/** A file in full: as large as there is room, with what is known of it and a link. */
export function FullFile({ file }: FileProps) {
  return (
    <div className="grid min-w-0 justify-items-start gap-2">
      {isPlayable(file) && <Player file={file} isLarge />}
      <FileLink file={file} />
      {file.url !== undefined && <p className="max-w-full text-xs break-all text-muted">{file.url}</p>}
    </div>
  );
}

function FileLink({ file }: FileProps) {
  const facts = fileFacts(file);
  // an answer in memory has no name of its own
  const download = file.address.startsWith("blob:") ? { download: fileName(file) } : {};
  return (
    <span className="block max-w-full min-w-0">
      <a
        {...download}
        href={file.address}
        target="_blank"
        rel="noreferrer"
        className="font-medium break-all text-accent underline decoration-accent/40 underline-offset-3 hover:decoration-accent"
      >
        {fileName(file)}
        <span className="sr-only"> (opens in a new tab)</span>
      </a>
      {facts !== "" && <span className="block text-xs text-muted">{facts}</span>}
    </span>
  );
}

/** An element that loads the file. Nothing is loaded before it is visible, or before a person plays it. */
function Player({ file, isLarge = false }: FileProps & { readonly isLarge?: boolean }) {
  const [failed, setFailed] = useState<string | undefined>(undefined);
  if (failed === file.address) return <Broken file={file} onRetry={() => setFailed(undefined)} />;
  const { address, height, kind, width } = file;
  const label = [fileName(file), fileFacts(file)].filter(Boolean).join(", ");
  const onError = () => setFailed(address);
  if (kind === "image") {
    return (
      <img
        src={address}
        alt={label}
        width={width}
        height={height}
        loading="lazy"
        decoding="async"
        onError={onError}
        className={
          isLarge
            ? "h-auto max-h-[60dvh] w-auto max-w-full rounded border border-line bg-sunken object-contain"
            : "h-14 w-auto max-w-28 min-w-8 rounded border border-line bg-sunken object-contain"
        }
      />
    );
  }
  if (kind === "audio") {
    return (
      // biome-ignore lint/a11y/useMediaCaption: a person's file, whose captions are not known
      <audio
        src={address}
        aria-label={label}
        controls
        preload="none"
        onError={onError}
        className={isLarge ? "w-full max-w-md" : "h-10 w-60"}
      />
    );
  }
  return (
    // biome-ignore lint/a11y/useMediaCaption: a person's file, whose captions are not known
    <video
      src={address}
      aria-label={label}
      controls
      preload="none"
      playsInline
      onError={onError}
      className={isLarge ? "max-h-[60dvh] w-full rounded bg-sunken" : "h-28 w-48 rounded bg-sunken"}
    />
  );
}

/** In place of a file that cannot be shown. A browser also gives up after a short failure, so a person can retry. */
function Broken({ file, onRetry }: FileProps & { readonly onRetry: () => void }) {
  const { forget, problem } = useLoadProblem(file);
  const retry = () => {
    forget();
    onRetry();
  };
  return (
    <span className="grid max-w-64 justify-items-start gap-1 rounded border border-dashed border-line px-2.5 py-1.5">
      <Badge tone="danger">not shown</Badge>
      <span className="text-xs break-words text-muted" role="status">
        {[fileName(file), problem].filter(Boolean).join(": ")}
      </span>
      <Button small look="quiet" onClick={retry}>
        Try again<span className="sr-only"> to show {fileName(file)}</span>
      </Button>
    </span>
  );
}
