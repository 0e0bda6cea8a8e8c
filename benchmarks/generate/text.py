"""Pools of realistic prose, code and dialogue from which benchmark rows are composed."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from random import Random

ADJECTIVES = (
    "careful", "thermal", "second", "open", "bitter", "parallel", "northern", "opaque",
    "fragile", "annual", "hollow", "linear", "sudden", "rural", "magnetic", "quiet",
)  # fmt: skip
NOUNS = (
    "reservoir", "enzyme", "ledger", "turbine", "sonnet", "matrix", "harbour", "verdict",
    "compiler", "glacier", "tariff", "violin", "membrane", "orbit", "treaty", "archive",
)  # fmt: skip
NAMES = ("Amara", "Bjorn", "Chandra", "Delia", "Emeka", "Farida", "Goran", "Hana")

# {0} adjective, {1} noun, {2} name, {3} number
SENTENCES = (
    'According to {2}, the {0} {1} "behaves as predicted" in {3} of the cases examined.',
    "{2} measured the {1} at {3} K; the error bars (+/- 2.5%) were ignored, however.",
    "Which of the following best explains why the {0} {1} failed after {3} hours?",
    "Let x = {3} and let f(x) = x^2 - 4x + 4; then f'(x) = 2x - 4, so the {1} is at x = 2.",
    "First, note that the {1}'s owner didn't sign the contract -- it was {2} who did.",
    '"I can\'t say," said {2}, "but the {0} {1} isn\'t where you\'d left it."',
    "The passage states that {3} people visited the {0} {1} between 1912 and 1938.",
    "We can rule out options B and D, since neither the {1} nor its {0} counterpart changes.",
    "Therefore, the rate is {3}/60 per minute, i.e. roughly $0.05 per {1} & handling.",
    "See C:\\data\\{1}\\run_{3}.csv or https://example.org/{1}?id={3}&lang=en#top.",
    "1. Open the {1}.\n2. Replace the {0} part.\n3. Wait {3} seconds, then test it again.\n",
    '```python\ndef {1}(n: int = {3}) -> str:\n\treturn f"<{{n:>8}}>\\n"\n```\n',
    'The service answered {{"status": "ok", "{1}": {3}, "tags": ["{0}", null]}}.',
    "| {1} | {0} |\n|---|---|\n| {3} | 0.{3} |\n| {2} | n/a |\n",
    "{2} argues the {0} {1} is necessary; critics reply that it's merely sufficient.",
    "Hence \\frac{{{3}}}{{7}} of every {0} {1} must be conserved: \\(p < 0.05\\).",
    "$ grep -rn '{1}' src/ | head -{3}\nsrc/{0}.py:{3}: raise ValueError(\"{1}\")\n",
    "The court held that a {0} {1} (No. {3}) cannot be transferred without notice.",
    "Consider a {0} {1} of mass {3} kg resting on an incline; friction is negligible.",
    "It is unclear whether {2} knew. The {1}, after all, had been {0} for {3} years!",
)

# {0} adjective, {1} noun, {2} name, {3} number
FOREIGN_SENTENCES = (
    "根据第{3}页的记录、水库的容量在去年增加了两倍。",
    "「それは{3}年前のことです」と彼女は静かに答えました。",
    "Учёные впервые описали это явление в журнале {3} года.",
    "बैठक में {3} सदस्यों ने प्रस्ताव के पक्ष में मतदान किया।",
    "وصل {3} زائرًا إلى المتحف في اليوم الأول من المعرض.",
    "Σωστή απάντηση είναι το {3}, όπως δείχνει το δεύτερο παράδειγμα.",
    "다음 중 {3}번 문항의 설명으로 가장 알맞은 것은 무엇입니까?",
    "L'été dernier, {2} a vendu {3} œuvres « à la façon de Cézanne » — déjà oubliées.",
    "Größere Städte müßten jährlich {3} € für „öffentliche“ Räume ausgeben.",
    "Çiğdem'in {3} öyküsü ve İstanbul'daki küçük bahçesi çok ünlüydü.",
    "Điều này đã được chứng minh trong {3} thí nghiệm độc lập.",
    "ผลการทดลองครั้งที่ {3} แสดงให้เห็นว่าอุณหภูมิสูงขึ้น",
    "Great job, {2}! 🎉 You scored {3} points 👩🏽‍🔬 → 🥇 (that's ≥ 90 % of the maximum).",
    "∀ε>0 ∃δ>0: d(x, {3}) < δ ⇒ d(f(x), L) < ε, so ∑ᵢ xᵢ² ≤ {3}·√n.",
    "A line separator\u2028stands in this {1} and must not end row {3}.",
)
FOREIGN_PHRASES = (
    "蒸気機関", "водохранилище", "Zürich", "ذاكرة", "façade", "ελευθερία", "서울", "🧪 β",
)  # fmt: skip

POOL_BYTES = 1_000_000


class TextPool:
    """Sentences in a fixed order, from which stretches of a wanted size are cut."""

    def __init__(self, seed: int, foreign_share: float) -> None:
        random = Random(f"text {seed} {foreign_share}")
        self._foreign_share = foreign_share
        self._sentences: list[str] = []
        sizes: list[int] = []
        total = 0
        while total < POOL_BYTES:
            sentence = _sentence(random, foreign_share)
            self._sentences.append(sentence)
            sizes.append(len(sentence.encode()))
            total += sizes[-1]
        self._ends = list(accumulate(sizes))

    def text(self, random: Random, size: int) -> str:
        """Cut whole sentences of about `size` UTF-8 bytes, at least one."""
        size = min(size, POOL_BYTES // 2)
        first = bisect_right(self._ends, random.randrange(POOL_BYTES - size))
        start = self._ends[first - 1] if first else 0
        last = max(bisect_right(self._ends, start + size), first + 1)
        return "".join(self._sentences[first:last]).rstrip()

    def phrases(self, random: Random, count: int) -> list[str]:
        """Return `count` different short answers."""
        adjectives, nouns = random.sample(ADJECTIVES, count), random.sample(NOUNS, count)
        pairs = zip(adjectives, nouns, strict=True)
        answers = [f"the {adjective} {noun}" for adjective, noun in pairs]
        if random.random() < self._foreign_share:
            answers[0] = random.choice(FOREIGN_PHRASES)
            random.shuffle(answers)
        return answers


def _sentence(random: Random, foreign_share: float) -> str:
    """Fill one template and end it as running text does."""
    templates = FOREIGN_SENTENCES if random.random() < foreign_share else SENTENCES
    template = random.choice(templates)
    words = [random.choice(pool) for pool in (ADJECTIVES, NOUNS, NAMES)]
    sentence = template.format(*words, random.randint(2, 9999))
    if sentence.endswith("\n"):
        return sentence
    return sentence + random.choices((" ", "\n", "\n\n"), weights=(85, 10, 5))[0]


@lru_cache(maxsize=8)
def text_pool(seed: int, foreign_share: float) -> TextPool:
    """Return the pool of this seed and share of non-ASCII sentences, built once."""
    return TextPool(seed, foreign_share)
