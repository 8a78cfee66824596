"""Surveys and what people answered: Json values with a schema, taken apart and put together again."""

from typing import TypedDict

import appdb as db
from appdb.functions import cast, count, filter, make_list, map, max, mean, min, sort, uuid7
from appdb.functions.json import dumps
from appdb.serving import Router
from grading import describe, grade, headline, names_of, shout, slug

Base = db.model_base()
# .using() fixes arguments; what is left is a function of the rest.
school = grade.using(scale=["fail", "pass", "good"])


class Answer(TypedDict):
    """One answer. A value that does not look like this is refused when a row is written."""

    question: str
    stars: int
    note: str | None


class Surveys(Base, name="surveys"):
    code = db.Column(type=db.String, primary_key=True)
    title = db.Column(type=db.String)
    # The same as a TypedDict, written where it is used.
    settings = db.Column(type=db.Json[{"lang": db.String, "open": db.Bool, "limits": list[db.Int]}])
    questions = db.Column(type=db.Json[list[db.String]])

    # Any function of a module can be applied to a value; col_type says what it returns where no hint does.
    address = title.apply(slug)
    question_count = questions.apply(len, col_type=db.Int)
    first, last = questions[0], questions[-1]
    middle = questions[1:-1]
    is_open = settings["open"].astype(db.Bool)
    setting_names = names_of(settings)
    # A function with signatures for several types: each call takes the one that fits its column.
    about_title = describe(title)
    about_count = describe(question_count)
    about_open = describe(is_open)


@db.query(return_scalar=True)
def titles(code: str):
    """The titles of the survey: a list of one, or of none."""
    return Surveys.where(Surveys.code == code).select(Surveys.title)


class Responses(Base, name="responses"):
    id = db.Column(value=uuid7(), primary_key=True)
    survey = db.Column(type=db.String)
    person = db.Column(type=db.Json)  # any JSON: whatever the form asked for
    answers = db.Column(type=db.Json[list[Answer]])
    consent = db.Column(type=db.Bool)
    channel: db.String | None

    # A query over another table, run once for each new row.
    title = titles(survey)[0].astype(db.String)

    # Paths. `['*']` goes to every element, a part that is not there is null.
    stars = answers["*"].stars
    city = person.get("city", "unknown").astype(db.String)
    street = person.address.street
    second_note = answers[1].note
    # A key that is called like a function, or is no name, stands in brackets.
    size = person["len"]
    phone = person["phone (home)"]

    # Functions of Json values, as methods.
    asked = answers.len()
    total = stars.sum()
    average = stars.mean()
    best = stars.max()
    worst = stars.min()
    fives = stars.count(5)
    speaks_dutch = person.langs.contains("nl")
    fields = person.keys()
    is_blank = answers.is_empty()
    all_langs = person.nested.flatten()
    profile = person.merge({"survey": survey, "city": city, "consent": consent})
    text = dumps(person)

    # Functions over the elements of a list. The lambda is read once; what it gives is an expression.
    notes = filter(map(answers, lambda a: a.note), lambda note: note != None)  # noqa: E711
    ranked = sort(answers, key=lambda a: a.stars, asc=False)["*"].question
    cards = map(answers, lambda a: {"q": a.question, "ok": a.stars >= 3, "of": 5})
    low = answers.filter(lambda a: a.stars < 3).map(lambda a: a.question)  # pyright: ignore
    langs = sort(person.langs)

    # Conversions: a part of a Json value is Json until it is said what it is.
    age = person.age.astype(db.Int)
    age_text = cast(age, db.String)
    age_exact = cast(person.age, db.Float)
    in_ten_years = age + 10
    older = person.age + 10  # beside a number it counts as a Float

    # Dicts, lists and constants as columns. The order of the keys is the one written here.
    card = {"survey": survey, "average": average, "by": {"city": city, "age": age}, "tags": ["answer", survey, None]}
    pair = [survey, asked]
    version = 2

    school_grade = school(average)
    stars_grade = grade(average, scale=["-", "*", "**", "***"], half=True)

    agrees = consent == True  # noqa: E712  as people write it; the column alone would do
    loud = (consent == True) & (average > 4)  # noqa: E712
    greeting = headline(city, langs[0].astype(db.String))
    cry = shout(survey, times=2)

    __indexes__ = [db.BtreeIndex(survey), db.BtreeIndex(city)]


@db.query
def agreed(survey: str):
    return (
        Responses.where((Responses.survey == survey) & (Responses.consent == True))  # noqa: E712
        .order_by(Responses.average, asc=False)
        .order_by(Responses.id)
        .select(Responses.city, Responses.average, Responses.loud)
    )


@db.query
def summary():
    """One row a survey. Aggregates leave nulls out."""
    return (
        Responses.group_by(Responses.survey)
        .select(
            Responses.survey,
            responses=count(),
            ages=count(Responses.age),
            average=mean(Responses.average),
            youngest=min(Responses.age),
            last_city=max(Responses.city),
            cities=make_list(Responses.city),
        )
        .order_by(Responses.survey)
    )


@db.query
def by_consent():
    return (
        Responses.group_by(Responses.consent, Responses.channel)
        .select(Responses.consent, Responses.channel, n=count(), all_stars=make_list(Responses.stars))
        .order_by(Responses.consent)
        .order_by(Responses.channel)
    )


@db.query
def profiles(city: str):
    """Json results: the keys of a value come in the order in which they were sent."""
    return (
        Responses.where(Responses.person.city == city)
        .order_by(Responses.id)
        .select(Responses.person, Responses.profile, questions=Responses.answers["*"].question, first=Responses.answers[0])
    )


@db.query(return_scalar=True)
def averages(survey: str, least: float = 0.0):
    return (
        Responses.where((Responses.survey == survey) & (Responses.average >= least))
        .select(Responses.average)
        .order_by(Responses.average)
    )


@db.query(return_scalar=True)
def cards(survey: str):
    return Responses.where(Responses.survey == survey).order_by(Responses.id).select(Responses.card)


@db.query
def by_age(grown_up: bool):
    """What is asked of a part of a Json value, before it is a column."""
    return (
        Responses.where((Responses.person.age.astype(db.Int) >= 18) == grown_up)
        .select(age=Responses.person["age"], ok=Responses.agrees)
        .order_by(Responses.person.age.astype(db.Int))
    )


surveys = Router(name="surveys", prefix="/v1")
surveys.add_insert_route(Surveys, path="/surveys")
surveys.add_insert_route(
    Responses,
    path="/responses",
    inputs=[Responses.survey, Responses.person, Responses.answers, Responses.consent, Responses.channel],
)
surveys.add_compute_route(
    Responses,
    path="/preview",
    inputs=[Responses.answers],
    outputs=[Responses.average, Responses.ranked, Responses.cards, Responses.school_grade],
)
surveys.add_query_route(path="/agreed", query=agreed, method="get")
surveys.add_query_route(path="/summary", query=summary, method="get")
surveys.add_query_route(path="/by-consent", query=by_consent, method="get")
surveys.add_query_route(path="/profiles", query=profiles)
surveys.add_query_route(path="/averages", query=averages, method="get")
surveys.add_query_route(path="/cards", query=cards)
surveys.add_query_route(path="/by-age", query=by_age, method="get")
