"""Takes secrets and personal data out of log text before any of it is stored."""

import re

# Each pattern keeps what says which kind of thing stood there (groups) and drops the thing.
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}"
            r"(?:-----END [A-Z ]{0,30}KEY-----)?",
            "<private key>",
        ),
        (r"\beyJ[\w-]{8,2000}\.[\w-]{8,4000}(?:\.[\w-]{0,1000})?", "<token>"),
        (
            r"\b(?:hf|gh[opsur]|glpat|pypi|npm|dckr_pat|xox[abprs]|sk|pk|rk|AIza|ya29|github_pat)"
            r"[-_][\w.-]{12,300}",
            "<token>",
        ),
        (r"\bAIza[\w-]{30,60}", "<token>"),
        (r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,24}\b", "<token>"),
        (
            r"(?i)\b(bearer|basic|token)(\s{1,4}|:\s{0,4})(?=\S{0,300}[\d._/+=-])[\w.~+/=-]{12,2000}",
            r"\1\2<token>",
        ),
        (
            r"""(?ix)\b((?:[\w.-]{0,40}[_.-])?
             (?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?
             |auth[_-]?key|private[_-]?key|credentials?|sig|signature|client[_-]?secret)
             (?:["']{0,2}\s{0,4}[=:]\s{0,4}|\s{1,2}(?=\S{16})))["']?[^\s"',;&)\]}]{6,2000}""",
            r"\1<secret>",
        ),
        (r"\b([a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{1,200}:[^\s/@]{1,400}@", r"\1<secret>@"),
        (r"\b[0-9a-f]{40}\b(?!\.)", "<hex>"),
        (r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b", "<e-mail>"),
        (r"(/(?:home|Users|u|scratch/users|data/users|nfs/home)/)[\w.@+-]{1,64}", r"\1<user>"),
        (r"(?i)(\b[a-z]:\\{1,2}Users\\{1,2})[^\\/\s\"']{1,64}", r"\1<user>"),
        (r"(?<![\w/])(~)[a-z_][\w.-]{0,31}(?=/)", r"\1<user>"),
    )
)


def mask(text: str) -> str:
    """Replace tokens, passwords, keys, e-mail addresses and home folders by what they are.

    Masked text is left as it is when masked again.
    """
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return text
