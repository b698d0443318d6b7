"""Names of characters in manual pages, as groff_char(7) lists them."""

from __future__ import annotations

import re
import unicodedata

_PAIRS = r"""
    bu • co © rg ® tm ™ em — en – hy - mi − pl + mu × di ÷ +- ± -+ ∓ eq = == ≡ != ≠ <= ≤ >= ≥ ~~ ≈ ~= ≅ ap ∼ |= ≃ cq ’ oq ‘
    aq ' dq " lq “ rq ” Fo « Fc » fo ‹ fc › Bq „ bq ‚ ga ` aa ´ ha ^ ti ~ rs \ sl / ul _ ru _ br │ bv │ ba | or | bb ¦ sh #
    at @ Do $ ct ¢ Po £ Ye ¥ Cs ¤ Eu € eu € Fn ƒ lB [ rB ] lC { rC } la ⟨ ra ⟩ <- ← -> → <> ↔ ua ↑ da ↓ va ↕ lA ⇐ rA ⇒ hA ⇔
    uA ⇑ dA ⇓ de ° sc § ps ¶ dg † dd ‡ ci ○ sq □ bx ▪ lh ☜ rh ☞ OK ✓ CR ↵ if ∞ in ∞ pd ∂ gr ∇ is ∫ sum ∑ product ∏ sr √ mo ∈
    nm ∉ sb ⊂ nb ⊄ sp ⊃ ib ⊆ ip ⊇ ca ∩ cu ∪ fa ∀ te ∃ AN ∧ OR ∨ no ¬ tno ¬ 12 ½ 14 ¼ 34 ¾ S1 ¹ S2 ² S3 ³ Of ª Om º md ⋅ pc ·
    ** ∗ fm ′ sd ″ mc µ pp ⊥ es ∅ tf ∴ 3d ∴ pt ∝ c+ ⊕ c* ⊗ %0 ‰ r! ¡ r? ¿ ss ß AE Æ ae æ OE Œ oe œ /O Ø /o ø -D Ð Sd ð TP Þ
    Tp þ /L Ł /l ł .i ı .j ȷ ff ff fi fi fl fl Fi ffi Fl ffl IJ Ĳ ij ĳ rn ‾ radicalex ‾ lf ⌊ rf ⌋ lc ⌈ rc ⌉ f/ ⁄ CL ♣ SP ♠
    HE ♥ DI ♦ lz ◊ a- ¯ a. ˙ a^ ^ a~ ~ ac ¸ ad ¨ ah ˇ ao ˚ ab ˘ ho ˛ *A Α *B Β *G Γ *D Δ *E Ε *Z Ζ *Y Η *H Θ *I Ι *K Κ *L Λ
    *M Μ *N Ν *C Ξ *O Ο *P Π *R Ρ *S Σ *T Τ *U Υ *F Φ *X Χ *Q Ψ *W Ω *a α *b β *g γ *d δ *e ε *z ζ *y η *h θ *i ι *k κ *l λ
    *m μ *n ν *c ξ *o ο *p π *r ρ *s σ *t τ *u υ *f ϕ *x χ *q ψ *w ω +h ϑ +f φ ts ς
"""
"""Name and character in turns."""
_GLYPHS = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
_ACCENTS = dict(zip("'`^:~,ovc", "\u0301\u0300\u0302\u0308\u0303\u0327\u030a\u030c\u0327", strict=True))
"""The first character of the name of a letter with an accent, such as `'e`."""


def glyph_of(name: str) -> str:
    """The character with this name; U+FFFD if there is none."""
    if name in _GLYPHS:
        return _GLYPHS[name]
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6}){0,4}", name):
        codes = [int(code, 16) for code in name[1:].split("_")]
        return unicodedata.normalize("NFC", "".join(chr(code) for code in codes if code <= 0x10FFFF))
    if re.fullmatch(r"char\d{1,3}", name):
        return chr(int(name[4:]))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    return name if len(name) == 1 else "\N{REPLACEMENT CHARACTER}"
