"""PricingAgent and SeoAgent: the price of an offer, and the texts of its page."""

import re
import unicodedata
from decimal import Decimal
from statistics import median

from pydantic import BaseModel, Field

from broker import Context, agent

_TITLE = 60  # characters that search engines show
_DESCRIPTION = 155


class PricingInput(BaseModel):
    sku: str
    cost: Decimal = Field(gt=0)
    competitors: list[Decimal] = Field(default_factory=list, max_length=1000)
    least_margin: Decimal = Field(Decimal("0.15"), ge=0, le=10)


class Price(BaseModel):
    sku: str
    price: Decimal
    margin: Decimal
    reason: str


@agent("PricingAgent", "refresh_pricing", priority="medium")
def refresh_pricing(ctx: Context, request: PricingInput) -> Price:
    """Prices a part just below the market, but never below the least margin."""
    lowest = request.cost * (1 + request.least_margin)
    market = Decimal(median(request.competitors)) if request.competitors else None
    if market is None:
        price, reason = lowest, "nobody else sells it"
    elif market * Decimal("0.99") >= lowest:
        price, reason = market * Decimal("0.99"), "below the market"
    else:
        price, reason = lowest, "the least margin"
    price = price.quantize(Decimal("0.01"))
    ctx.progress(100, f"{request.sku}: {price}")
    return Price(
        sku=request.sku, price=price, margin=(price / request.cost - 1).quantize(Decimal("0.001")), reason=reason
    )


class SeoInput(BaseModel):
    sku: str
    name: str = Field(min_length=1, max_length=500)
    brand: str = Field(max_length=200)
    vehicles: list[str] = Field(default_factory=list, max_length=1000)


class SeoTexts(BaseModel):
    slug: str
    title: str
    description: str
    keywords: list[str]


@agent("SeoAgent", "refresh_seo", priority="medium")
def refresh_seo(ctx: Context, request: SeoInput) -> SeoTexts:
    """Writes the title, the description and the keywords of a part's page."""
    name = f"{request.brand} {request.name}".strip()
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    fits = f" Fits {', '.join(request.vehicles)}." if request.vehicles else ""
    words = re.findall(r"\w{3,}", " ".join([name, *request.vehicles]).lower())
    ctx.progress(100, name[:100])
    return SeoTexts(
        slug=re.sub(r"[^a-z0-9]+", "-", f"{plain} {request.sku.lower()}").strip("-"),
        title=_cut(f"{name} ({request.sku})", _TITLE),
        description=_cut(f"{name}, part {request.sku}.{fits} In stock, sent today.", _DESCRIPTION),
        keywords=list(dict.fromkeys(words))[:20],
    )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rsplit(" ", 1)[0] + "…"
