export function Wordmark() {
  return (
    <span className="inline-flex items-center gap-2 font-semibold tracking-tight text-ink">
      <svg
        aria-hidden="true"
        viewBox="0 0 20 20"
        className="size-5 text-accent"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
      >
        <ellipse cx="10" cy="5" rx="6.5" ry="2.75" />
        <path d="M3.5 5v10c0 1.5 2.9 2.75 6.5 2.75s6.5-1.25 6.5-2.75V5M3.5 10c0 1.5 2.9 2.75 6.5 2.75s6.5-1.25 6.5-2.75" />
      </svg>
      appdb
    </span>
  );
}
