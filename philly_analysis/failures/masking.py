"""Takes secrets and personal data out of log text before any of it is stored."""

import re
from typing import NamedTuple

_QUOTE = r"""["'`]"""
_NAMED = (
    r"password|passwd|passphrase|pwd(?![\"']?\s{0,4}[:=]\s{0,4}[\"']?/)"
    r"|secret(?:[_-]?(?:access[_-]?)?key)?|token|jwt|api[_-]?key"
    r"|account[_-]?key|shared[_-]?(?:access[_-]?)?key|access[_-]?key(?:[_-]?id)?|auth[_-]?key|private[_-]?key|signing[_-]?key"
    r"|encryption[_-]?key|license[_-]?key|client[_-]?key[_-]?data|credentials?"
    r"|session[_-]?id|dsn"
)
_TOKENS = "|".join(
    (
        r"(?:hf_|api_org_|gh[opsur]_|npm_|r8_|gsk_|fw_|rnd_|lin_api_|ntn_|secret_)(?=[A-Za-z0-9]{20})",
        r"dapi(?=[0-9a-f]{32})|local-(?=[0-9a-f]{40})",
        r"(?:pypi-|SG\.|sl\.|EAAA)(?=[\w./+=-]{40})|[spr]k-(?=[\w-]{20})(?=[\w-]{0,120}\d)",
        r"(?:github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-|ATBB|ATATT3|ATCTT3|dckr_(?:pat|oat)_"
        r"|xox[abeoprs]-|xapp-|(?:sk|pk|rk)_(?:live|test)_|whsec_|pplx-|xai-|nvapi-|lsv2_(?:pt|sk)_"
        r"|pcsk_|hv[sbr]\.|do[opr]_v1_|HRKU-|NRAK-|NRII-|glsa_|glc_|shp(?:at|ss)_|GOCSPX-|tskey-"
        r"|fo1_|fm2_|ya29\.|1//0|sq0[a-z]{3}-|PMAK-|sntry[su]_|AGE-SECRET-KEY-)"
        r"(?=[\w./+=-]{0,120}\d)",
    )
)
"""How tokens begin, each kind with as much as tells it from a name."""
_CODE = (
    r"(?P=key)(?![\w.+/=-])|(?:self|cls|args|opts?|cfg|config|kwargs|os|tokenizer|model)\.[a-z_]"
    r"|(?<=\s)[a-z_.]{2,60}\(|0x[0-9a-f]{1,16}\b"
)
"""What a program's source gives to a name, as tracebacks show it, and numbers."""


class Mask(NamedTuple):
    """A kind of thing that is not stored: how it looks, and what stands in its place.

    Of what the pattern matches, its groups are kept: they say which kind of thing stood there.
    """

    kind: str
    pattern: re.Pattern[str]
    instead: str


def _mask(kind: str, pattern: str, instead: str) -> Mask:
    return Mask(kind, re.compile(pattern), instead)


MASKS: tuple[Mask, ...] = (
    _mask(
        "private keys in PEM, of any maker",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^-]{0,8000}"
        r"(?:-----END [A-Z ]{0,30}KEY(?: BLOCK)?-----)?",
        "<private key>",
    ),
    _mask(
        "lines of base64, as within a private key",
        r"(?m)^[ \t]{0,8}(?=.{0,63}[A-Z])(?=.{0,63}[a-z])(?=.{0,63}[0-9+/])"
        r"[A-Za-z0-9+/]{60,2000}={0,2}[ \t]{0,8}$",
        "<base64>",
    ),
    _mask("JSON web tokens", r"\beyJ[\w-]{8,2000}\.[\w-]{8,4000}(?:\.[\w-]{0,1000})?", "<token>"),
    _mask(
        "tokens that say whose they are: of forges, registries, clouds, models' and data's makers",
        rf"(?<![\w.-])(?:{_TOKENS})[\w./+=-]{{12,600}}",
        "<token>",
    ),
    _mask("Google's API keys", r"\bAIza[\w-]{30,60}", "<token>"),
    _mask("AWS' key ids", r"\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,24}\b", "<token>"),
    _mask("Azure's client secrets", r"(?<![\w~.-])[\w~.-]{3}8Q~[\w~.-]{30,40}", "<token>"),
    _mask("Telegram's bots", r"(?<!\d)\d{8,10}:AA[\w-]{32,35}\b", "<token>"),
    _mask(
        "Discord's bots",
        r"(?<![\w.-])[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w.-])",
        "<token>",
    ),
    _mask("Terraform's tokens", r"\b\w{14}\.atlasv1\.[\w-]{60,80}", "<token>"),
    _mask("Twilio's keys", r"\b(?:SK|AC)[0-9a-f]{32}\b", "<token>"),
    _mask("Mailgun's keys", r"\bkey-[0-9a-f]{32}\b", "<token>"),
    _mask(
        "addresses that are the secret: webhooks",
        r"(?i)(https://(?:hooks\.slack\.com/(?:services|workflows|triggers)"
        r"|(?:\w{1,10}\.)?discord(?:app)?\.com/api/webhooks"
        r"|[\w-]{1,60}\.webhook\.office\.com/webhookb2)/)[\w/@-]{12,400}",
        r"\1<secret>",
    ),
    _mask(
        "hashes of passwords",
        r"(?<![\w$])\$(?:1|2[aby]|5|6|y|argon2id?)\$[^\s:\"',]{20,200}",
        "<hash>",
    ),
    _mask(
        "headers of requests: Authorization, cookies",
        r"(?i)\b((?:proxy-)?authorization|x-[\w-]{0,30}(?:key|token|auth|secret)|(?:set-)?cookie)"
        rf"({_QUOTE}?\s{{0,4}}[:=]\s{{0,4}}+{_QUOTE}?+(?:(?:bearer|basic|token|digest|negotiate|apikey"
        rf"|aws4-hmac-sha256)\s{{1,4}}+)?+)(?!<)[^\n\"'`]{{6,4000}}",
        r"\1\2<secret>",
    ),
    _mask(
        "words for a token and what follows",
        r"(?i)\b(bearer|basic|token)([ \t]{1,4}|:[ \t]{0,4})(?=\S{0,300}(?:[\d_/+=-]|\.\S))"
        r"[\w.~+/=-]{12,2000}",
        r"\1\2<token>",
    ),
    _mask(
        "what a command is given as a password",
        r"(?i)\b((?:curl|wget|http|rclone)\b[^\n]{0,200}?\s(?:-u|--user)[\s=]{1,2}[^\s:]{1,64}:"
        r"|sshpass\s{1,4}-p\s{0,4}|mysql(?:dump)?\b[^\n]{0,200}?\s-p|redis-cli\b[^\n]{0,200}?\s-a\s{1,4}"
        r"|wandb\s{1,4}login\s{1,4}(?:--relogin\s{1,4})?|(?:huggingface-cli|hf)\s{1,4}(?:auth\s{1,4})?login"
        r"\s{1,4}--token\s{1,4}|docker\s{1,4}login\b[^\n]{0,200}?\s-p\s{1,4})(?![<-])[^\s\"']{4,400}",
        r"\1<secret>",
    ),
    _mask(
        "netrc",
        r"(?i)\b(login\s{1,4}\S{1,100}\s{1,4}password\s{1,4})(?!<)\S{3,400}",
        r"\1<secret>",
    ),
    _mask(
        "Kaggle's and Docker's files of keys",
        rf"({_QUOTE}(?:key|auth|identitytoken){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE})(?=[^\"'`]{{0,80}}\d)"
        r"[\w+/=-]{20,2000}",
        r"\1<secret>",
    ),
    _mask(
        "whatever is called a password, a secret, a token or a key",
        rf"(?ix)\b((?P<key>(?:[\w.-]{{0,40}}[_.-])?(?:{_NAMED})|[\w.-]{{1,40}}[_.-]pass)"
        r"""(?:["']{0,2}\s{0,4}(?:=>|:=|[=:])\s{0,4}|\s{1,2}(?=\S{16}))"""
        r"|(?:[\w.-]{0,40}[_.-])?(?:sig|signature)=)"
        rf"""(?!<|{_CODE})["'`]?[^\s"'`,;&)\]}}]{{6,2000}}""",
        r"\1<secret>",
    ),
    _mask(
        "addresses with a user and a password",
        r"\b([a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^\s/@:]{0,200}:[^\s/@]{1,400}@",
        r"\1<secret>@",
    ),
    _mask(
        "addresses with a key: Sentry's, tokens of forges",
        r"\b(https?://)[\w-]{20,200}@(?=[\w.-])",
        r"\1<secret>@",
    ),
    _mask("keys in hexadecimal, as W&B's", r"(?<![\w/@])(?<!commit )[0-9a-f]{40}\b(?!\.)", "<hex>"),
    _mask(
        "keys in hexadecimal of 256 bits",
        r"(?<![:\w])(?<!(?i:sha256): )(?:0x)?[0-9a-f]{64}\b(?!\.)",
        "<hex>",
    ),
    _mask(
        "e-mail addresses",
        r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}"
        r"(?!(?:service|scope|slice|socket|timer|mount|target|py|so|log)\b)[A-Za-z]{2,24}\b",
        "<e-mail>",
    ),
    _mask(
        "home folders",
        r"(/(?:home|Users|u|scratch/users|data/users|nfs/home)/)[\w.@+-]{1,64}",
        r"\1<user>",
    ),
    _mask(
        "home folders of Windows",
        r"(?i)(\b[a-z]:\\{1,2}Users\\{1,2})[^\\/\s\"']{1,64}",
        r"\1<user>",
    ),
    _mask("home folders by a tilde", r"(?<![\w/])(~)[a-z_][\w.-]{0,31}(?=/)", r"\1<user>"),
)
"""What is not stored, in the order in which it is looked for."""


def mask(text: str) -> str:
    """Replace tokens, passwords, keys, e-mail addresses and home folders by what they are.

    What stands in place of one may make another of what is around it, so that masks are laid until
    none changes anything: masked text is left as it is when masked again.
    """
    before = None
    while text != before:
        before = text
        for _, pattern, instead in MASKS:
            text = pattern.sub(instead, text)
    return text
