"""SupplierAgent: brings the lists of suppliers into one form."""

import re
from decimal import Decimal, InvalidOperation

from pydantic import BaseModel, Field

from broker import Context, agent

_COLUMNS = {  # by the words that suppliers use
    "sku": {"sku", "partno", "partnumber", "artikelnummer", "itemid"},
    "name": {"name", "title", "description", "bezeichnung", "product"},
    "price": {"price", "cost", "preis", "unitprice", "netprice"},
    "stock": {"stock", "qty", "quantity", "available", "bestand"},
}
_CURRENCIES = {"€": "EUR", "EUR": "EUR", "$": "USD", "USD": "USD", "£": "GBP", "GBP": "GBP"}


class SupplierInput(BaseModel):
    supplier: str = Field(min_length=1, max_length=200)
    rows: list[dict[str, str]] = Field(max_length=10_000, description="As the supplier's file has them.")
    currency: str = "EUR"


class Offer(BaseModel):
    sku: str
    name: str
    price: Decimal
    currency: str
    stock: int


class SupplierOffers(BaseModel):
    supplier: str
    offers: list[Offer]
    rejected: list[str] = Field(description="Why a row was left out.")


@agent("SupplierAgent", "normalize_supplier", priority="high")
def normalize_supplier(ctx: Context, request: SupplierInput) -> SupplierOffers:
    """Finds the columns of a supplier's list, and reads its numbers and currencies."""
    offers, rejected = [], []
    for number, row in enumerate(request.rows, start=1):
        if number % 100 == 0:
            ctx.progress(100 * number / len(request.rows), f"Row {number}")
        try:
            offers.append(_read_row(row, request.currency))
        except ValueError as reason:
            rejected.append(f"Row {number}: {reason}")
    return SupplierOffers(supplier=request.supplier, offers=offers, rejected=rejected)


def _read_row(row: dict[str, str], currency: str) -> Offer:
    found: dict[str, str] = {}
    for heading, value in row.items():
        word = re.sub(r"[^a-z]", "", heading.lower())
        found.update({column: value.strip() for column, words in _COLUMNS.items() if word in words})
    missing = sorted({"sku", "price"} - found.keys())
    if missing or not found["sku"]:
        raise ValueError(f"it has no {' and no '.join(missing) or 'sku'}")
    price, own_currency = _read_price(found["price"])
    return Offer(
        sku=found["sku"].upper(),
        name=" ".join(found.get("name", "").split()),
        price=price,
        currency=own_currency or currency,
        stock=int(re.sub(r"\D", "", found.get("stock", "")) or 0),
    )


def _read_price(text: str) -> tuple[Decimal, str | None]:
    """Reads 1,234.50 and 1.234,50: the last mark is the decimal one."""
    currency = next((code for sign, code in _CURRENCIES.items() if sign in text.upper()), None)
    digits = re.sub(r"[^\d.,]", "", text)
    marks = [position for position, mark in enumerate(digits) if mark in ".,"]
    if marks and len(digits) - marks[-1] - 1 in (1, 2):
        digits = re.sub(r"[.,]", "", digits[: marks[-1]]) + "." + digits[marks[-1] + 1 :]
    else:
        digits = re.sub(r"[.,]", "", digits)
    try:
        return Decimal(digits), currency
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a price") from None
