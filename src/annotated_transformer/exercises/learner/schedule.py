"""When an exercise comes back: days 0, 3, 7, 14 and 21, day 0 being the one it was solved on.

The ladder has one rung for each of these days. Every review that goes well on its day or later
climbs one rung; after the last the exercise is done. A late review is no loss: the way to the next
rung counts from the day the review really took place.
"""

import datetime

REVIEW_DAYS = (0, 3, 7, 14, 21)  # days since the exercise was solved, if no review is late


def review_after(level: int, day: datetime.date) -> datetime.date | None:
    """The day of the next review when `level` rungs are done, the last on `day`; None: no more.

    Level 0 is a ladder that starts again: the exercise is to be solved on that very day.
    """
    if level >= len(REVIEW_DAYS):
        return None
    before = REVIEW_DAYS[level - 1] if level else 0
    return day + datetime.timedelta(days=REVIEW_DAYS[level] - before)
