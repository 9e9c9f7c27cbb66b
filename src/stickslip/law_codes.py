"""Codes of the laws that constraint blocks obey; contact/laws.py says what they are."""

CONTACT, BILATERAL, LIMIT, ELASTIC, BOUNDED = range(5)
LAW_NAMES = {
    CONTACT: "contact", BILATERAL: "bilateral", LIMIT: "limit", ELASTIC: "elastic", BOUNDED: "bounded",
}  # fmt: skip
