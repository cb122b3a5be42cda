"""Tell from the name of a column whether it identifies a person, or comes before all other variables in time."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

IDENTIFIERS = {
    *("id", "ids", "uid", "uuid", "guid", "pid", "mrn", "ssn", "nhs", "zip", "zipcode", "postcode", "postal", "plz"),
    *("rownum", "rowid", "patientid", "subjectid", "personid", "caseid", "recordid", "studyid", "visitid"),
    *("email", "phone", "telephone", "surname", "firstname", "lastname", "fullname", "address", "street", "barcode"),
}
"""Words that make a column an identifier, if one of them is a word of its name."""

NAMES = {"name", "patient", "subject", "record", "index"}
"""Words that make a column an identifier if they are its whole name."""

FIRST = {
    *("age", "sex", "gender", "birth", "birthdate", "dob", "born", "ethnicity", "race"),
    *("alter", "geschlecht", "sexe", "edad", "sexo"),
}
"""Words for variables that no variable measured later can cause."""


def words_of(name: str) -> list[str]:
    """Split the name of a column into its words, in lower case.

    Examples
    --------
    >>> words_of("patientID"), words_of("zip_code"), words_of("sbp2")
    (['patient', 'id'], ['zip', 'code'], ['sbp', '2'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def names_an_identifier(name: str) -> bool:
    """Whether a name says that the column identifies a case, a person or a place.

    Examples
    --------
    >>> [names_an_identifier(name) for name in ("mrn", "patient_id", "ZIP code", "width", "fluid")]
    [True, True, True, False, False]
    """
    words = words_of(name)
    return not IDENTIFIERS.isdisjoint(words) or (len(words) == 1 and words[0] in NAMES)


def comes_first(name: str) -> bool:
    """Whether a name says that the variable comes before all others in time: age, sex, a date of birth.

    Examples
    --------
    >>> [comes_first(name) for name in ("age", "Sex", "date_of_birth", "dosage", "age_at_death")]
    [True, True, True, False, False]
    """
    words = words_of(name)
    later = {"death", "onset", "diagnosis", "discharge", "event", "end", "last"}
    return not FIRST.isdisjoint(words) and later.isdisjoint(words)
