"""Readings of sensors: eight samples a reading, the frame they came in, and when, in the zone of the sensor.

python provider.py                     # prints CALIBRATION_URL=..., and goes on
export CALIBRATION_URL=...
cli schema update app.py main
cli service update app.py main -f
"""

from datetime import date, datetime
from uuid import UUID

import appdb as db
import appdb.functions as fn
from appdb.serving import Router
from udfs import calibrated, checksum, indoor_label, label, smoothed, swing, trend

Base = db.model_base()


class Readings(Base, name="readings"):
    id = db.Column(value=fn.uuid7(), primary_key=True)
    sensor = db.Column(type=db.String)
    # Sent in any zone, kept in UTC to the microsecond.
    taken = db.Column(type=db.Timestamp)
    # Eight 32-bit numbers. Another length is refused; None instead of 8 would take any.
    samples = db.Column(type=db.Array[(8,), db.Float])
    # Bytes travel as base64 in JSON, and are stored as bytes.
    frame = db.Column(type=db.Binary | None)
    errors = db.Column(type=db.Int)

    day = taken.date()
    hour = taken.hour
    weekday = fn.timestamp.strftime(taken, "%A")
    week = taken.isocalendar().week.astype(db.Int)
    # In Oslo it may be another day already.
    in_oslo = fn.timestamp.isoformat(fn.timestamp.astimezone(taken, "Europe/Oslo"), sep=" ", timespec="minutes")
    keep_until = day.add_days(30)
    seconds = fn.timestamp.posix_timestamp(taken) % 60

    mean = samples.to_list().mean()
    swing = swing(samples)
    smooth = smoothed(samples, weight=0.25)
    checksum = checksum(frame)
    celsius = calibrated(sensor, mean)
    shown = indoor_label(celsius)
    errors_shown = label(errors, 3, unit=" errors")

    __indexes__ = [db.BtreeIndex(sensor, taken)]


@db.query
def reading(id: UUID):
    return Readings.where(Readings.id == id).select(Readings.samples, Readings.frame, Readings.taken, Readings.checksum)


@db.query
def per_day(sensor: str):
    return (
        Readings.where(Readings.sensor == sensor)
        .group_by(Readings.day)
        .select(
            Readings.day,
            readings=fn.count(),
            mean=round(fn.mean(Readings.celsius), 3),
            highest=fn.max(Readings.celsius),
            largest_swing=fn.max(Readings.swing),
            trend=trend(Readings.hour, Readings.celsius, digits=2),
            hours=fn.make_list(Readings.hour),
        )
        .order_by(Readings.day)
    )


@db.query
def between(first: date, last: date):
    """Dates compare with dates; the day after is left out by <, not by a clock time of 23:59."""
    return (
        Readings.where((Readings.day >= first) & (Readings.day < last))
        .order_by(Readings.taken)
        .select(Readings.sensor, Readings.taken, Readings.keep_until)
    )


@db.query
def since(moment: datetime):
    return Readings.where(Readings.taken >= moment).count()


@db.query
def newest(n: int = 3):
    """The last rows of an order, in that order."""
    return Readings.order_by(Readings.taken).tail(n).select(Readings.sensor, Readings.taken)


@db.query
def spot_check():
    """Rows drawn at random. The same seed draws the same rows, so that two people look at the same ones."""
    return Readings.sample(n=5, seed=7).select(Readings.id)


@db.query
def sensors():
    return (
        Readings.select(Readings.sensor, Readings.weekday)
        .distinct()
        .order_by(Readings.sensor)
        .order_by(Readings.weekday)
    )


@db.query
def restless(least: float):
    """A function in a condition and in what is sorted by: computed in Python while the query runs."""
    return (
        Readings.where(swing(Readings.samples) > least)
        .order_by(swing(Readings.samples), asc=False)
        .order_by(Readings.taken)
        .select(Readings.sensor, Readings.day, swing=Readings.swing)
    )


telemetry = Router()

telemetry.add_insert_route(
    Readings,
    path="/readings",
    outputs=["id", "day", "hour", "weekday", "week", "in_oslo", "keep_until", "seconds"]
    + ["mean", "swing", "smooth", "checksum", "celsius", "shown", "errors_shown"],
)
telemetry.add_compute_route(
    Readings, path="/smooth", inputs=[Readings.samples], outputs=[Readings.smooth, Readings.mean]
)
telemetry.add_query_route(path="/reading", query=reading, method="get", one_row=True)
telemetry.add_query_route(path="/days", query=per_day, method="get")
telemetry.add_query_route(path="/between", query=between, method="get")
telemetry.add_query_route(path="/since", query=since, one_row=True)
telemetry.add_query_route(path="/newest", query=newest, method="get")
telemetry.add_query_route(path="/spot-check", query=spot_check, method="get")
telemetry.add_query_route(path="/sensors", query=sensors, method="get")
telemetry.add_query_route(path="/restless", query=restless, method="get")
