import type { ReactNode } from "react";
import { linePath, roundUp } from "./chart-scale.ts";

const WIDTH = 600;
const HEIGHT = 120;

export type ChartTone = "accent" | "warn" | "danger";

interface ChartProps {
  readonly title: string;
  /** The chart's content in a sentence, for screen readers. */
  readonly summary: string;
  /** Names with their looks. */
  readonly legend: readonly (readonly [look: ReactNode, name: string])[];
  readonly max: number;
  readonly format: (value: number) => string;
  /** Labels below its left and right end. */
  readonly ends: readonly [ReactNode, ReactNode];
  readonly children: ReactNode;
}

/** A chart with title, scale and legend. A table must show the same numbers. */
function Chart({ title, summary, legend, max, format, ends, children }: ChartProps) {
  return (
    <figure className="grid grid-cols-1 gap-2">
      <figcaption className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 text-sm">
        <span className="font-medium">{title}</span>
        <span className="flex flex-wrap gap-x-3 text-xs text-muted">
          {legend.map(([look, name]) => (
            <span key={name} className="inline-flex items-center gap-1.5">
              {look}
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div>
        <p className="mb-1 text-xs text-muted tabular-nums" aria-hidden="true">
          {format(max)}
        </p>
        <svg
          role="img"
          aria-label={`${title}: ${summary}`}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="block h-28 w-full overflow-visible"
        >
          {[0, 0.5, 1].map((part) => (
            <line
              key={part}
              x1={0}
              x2={WIDTH}
              y1={HEIGHT * part}
              y2={HEIGHT * part}
              vectorEffect="non-scaling-stroke"
              className="stroke-line"
            />
          ))}
          {children}
        </svg>
        <p className="mt-1 flex justify-between text-xs text-muted" aria-hidden="true">
          <span>{ends[0]}</span>
          <span>{ends[1]}</span>
        </p>
      </div>
    </figure>
  );
}

const FILLS = { accent: "fill-accent", warn: "fill-warn", danger: "fill-danger" } as const;

interface BarChartProps extends Omit<ChartProps, "legend" | "max" | "children"> {
  /** The parts from bottom to top, with their names. */
  readonly parts: readonly { readonly name: string; readonly tone: ChartTone }[];
  /** One bar each, with the values of its parts. `title` is its tooltip. */
  readonly bars: readonly { readonly key: string; readonly title: string; readonly values: readonly number[] }[];
}

/** Stacked bars. */
export function BarChart({ parts, bars, ...rest }: BarChartProps) {
  const max = roundUp(Math.max(0, ...bars.map(({ values }) => sumOf(values))));
  const step = WIDTH / bars.length;
  return (
    <Chart
      {...rest}
      max={max}
      legend={parts.map(({ name, tone }) => [
        <svg key={name} aria-hidden="true" className="size-2.5" viewBox="0 0 10 10">
          <rect width="10" height="10" rx="2" className={FILLS[tone]} />
        </svg>,
        name,
      ])}
    >
      {bars.map(({ key, title, values }, at) => (
        <g key={key}>
          <title>{title}</title>
          {values.map((value, part) => {
            const height = (value / max) * HEIGHT;
            const below = (sumOf(values.slice(0, part)) / max) * HEIGHT;
            const { name = "", tone = "accent" } = parts[part] ?? {};
            return (
              value > 0 && (
                <rect
                  key={name}
                  x={at * step + step * 0.1}
                  width={step * 0.8}
                  y={HEIGHT - below - height}
                  height={height}
                  className={FILLS[tone]}
                />
              )
            );
          })}
        </g>
      ))}
    </Chart>
  );
}

const STROKES = { accent: "stroke-accent", warn: "stroke-warn", danger: "stroke-danger" } as const;

interface LineChartProps extends Omit<ChartProps, "legend" | "max" | "children"> {
  /** Distinguished by strokes as well as by colours. */
  readonly lines: readonly {
    readonly name: string;
    readonly tone: ChartTone;
    readonly dashes: string | undefined;
    readonly values: readonly (number | null)[];
  }[];
}

/** Lines over time, with gaps for missing values. */
export function LineChart({ lines, ...rest }: LineChartProps) {
  const max = roundUp(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  return (
    <Chart
      {...rest}
      max={max}
      legend={lines.map(({ name, tone, dashes }) => [
        <svg key={name} aria-hidden="true" className="h-2.5 w-6" viewBox="0 0 24 10">
          <line x1="1" x2="23" y1="5" y2="5" strokeWidth="2" strokeDasharray={dashes} className={STROKES[tone]} />
        </svg>,
        name,
      ])}
    >
      {lines.map(({ name, tone, dashes, values }) => (
        <path
          key={name}
          d={linePath(values, max, WIDTH, HEIGHT)}
          fill="none"
          strokeWidth="2.5"
          strokeLinecap="round"
          strokeLinejoin="round"
          strokeDasharray={dashes}
          vectorEffect="non-scaling-stroke"
          className={STROKES[tone]}
        />
      ))}
    </Chart>
  );
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
