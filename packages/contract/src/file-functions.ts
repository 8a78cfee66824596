import type { MediaKind } from "./types.ts";

/**
 * The library's functions whose results are files, by the kind of the result. Other calls make none, whatever type their
 * node has: SQL would give a text of the caller as a reference to a file.
 */
const FILE_FUNCTIONS: Readonly<Record<MediaKind, ReadonlySet<string>>> = {
  image: named({
    image:
      "resize rotate thumbnail crop convert transpose reduce effect_spread getchannel point quantize alpha_composite blend composite read_tile",
    video: "extract_frame read_frame",
    vision: "bboxes_draw overlay_segmentation",
  }),
  video: named({
    image: "to_video",
    video:
      "clip resize crop grayscale mirror_x mirror_y rotate adjust_brightness fade_in fade_out speed ffmpeg_filter scroll pan zoom overlay_image overlay_text transition concat_videos with_audio mix_audio reverse",
  }),
  audio: named({
    audio: "fade_in fade_out multiply_volume normalize encode_audio",
    video: "extract_audio",
  }),
  document: named({}),
};

/** The library's iterators that make files. The worker would open a text that another one gives as a path. */
const FILE_ITERATORS: Readonly<Record<MediaKind, ReadonlySet<string>>> = {
  video: named({ video: "video_splitter" }),
  image: new Set(["document.document_splitter", "image.tile_iterator", "video.frame_iterator"]),
  audio: named({ audio: "audio_splitter" }),
  document: named({}),
};

/** An output of an iterator that runs again. Python computes it, and its files are made by the iterator. */
const REREAD = "op.reread";

/** Whether a call of this function or operator may have a file of this kind as its result. */
export function makesFile(fn: string, kind: MediaKind): boolean {
  return fn === REREAD || FILE_FUNCTIONS[kind].has(fn);
}

export const iteratesFiles = (fn: string, kind: MediaKind): boolean => FILE_ITERATORS[kind].has(fn);

function named(names: Readonly<Record<string, string>>): ReadonlySet<string> {
  return new Set(Object.entries(names).flatMap(([space, all]) => all.split(" ").map((name) => `${space}.${name}`)));
}
