"""Functions over sensor readings: plain, in batches, waiting for a provider, and aggregating."""

import asyncio
import json
import os
import urllib.parse
import urllib.request
import zlib
from typing import TYPE_CHECKING

import appdb as db

# The provider lets few calls through at once and turns the others away. All functions that name this pool share its
# limits, across all workers; a call that was turned away is made again, after the pause that the provider names.
db.ResourcePool("calibration", max_concurrent=4, retries=5)

if TYPE_CHECKING:
    Samples = list[float]  # for the editor: what the functions do with them
else:
    Samples = db.Array[(8,), db.Float]


@db.udf
def swing(samples: Samples) -> float:
    """From the lowest to the highest. An array is NumPy's where NumPy is installed, else a list: this works with both."""
    values = [float(value) for value in samples]
    return max(values) - min(values)


@db.udf
def checksum(frame: bytes) -> str:
    """Binary values are bytes. A null frame gives null: the parameter does not say `| None`."""
    return f"{zlib.crc32(frame):08x}"


@db.udf(batch_size=16)
def smoothed(batch: db.Batch[Samples], weight: float = 0.5) -> db.Batch[float]:
    """Takes up to 16 rows at once, as models and vector libraries like it, and gives a value for each."""
    results: list[float] = []
    for samples in batch:
        level = float(samples[0])
        for value in samples:
            level += weight * (float(value) - level)
        results.append(level)
    return results


@db.udf(resource_pool="calibration", timeout=10)
async def calibrated(sensor: str, value: float) -> float:
    """Asks the provider. While one row waits, others are asked for; the address is read when the function is called."""
    query = urllib.parse.urlencode({"sensor": sensor, "value": value})
    return await asyncio.to_thread(_fetch, f"{os.environ['CALIBRATION_URL']}/calibrate?{query}")


def _fetch(url: str) -> float:
    # A provider that turns a call away answers 429 or 503, with Retry-After: urllib raises it, the pool understands it.
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)["value"]


@db.udf
def label(value: int, limit: int, unit: str = "") -> str:
    return f"{value}{unit}{' !' if value > limit else ''}"


@label.overload
def label_of_a_measure(value: float, limit: float, unit: str = " °C") -> str:
    """The same function for another type. An Int fits a Float's place, too; a call takes the signature that is nearest."""
    return f"{value:.1f}{unit}{' !' if value > limit else ''}"


# Some parameters fixed: what is left is given where it is used.
indoor_label = label.using(limit=25.0)


@db.uda
class trend(db.Aggregator):
    """The slope of the straight line nearest to a day's values, in degrees an hour. It needs no order, and keeps five
    sums, not the values: a day may have any number of them."""

    def __init__(self, digits: int = 3):
        self.digits = digits
        self.n = self.x = self.y = self.xx = self.xy = 0.0

    def update(self, hour: int, value: float):
        self.n += 1
        self.x += hour
        self.y += value
        self.xx += hour * hour
        self.xy += hour * value

    def value(self) -> float | None:
        spread = self.n * self.xx - self.x * self.x
        return round((self.n * self.xy - self.x * self.y) / spread, self.digits) if spread else None
