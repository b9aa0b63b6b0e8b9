"""What a secret looks like: names that announce one, and the shapes of well-known keys.

The texts may be hostile, so every pattern takes linear time: a repetition either begins where no other can have begun
before it in the same run of characters, or it matches whatever follows."""

import re
from functools import cache

from state.settings import get_settings

_HEADERS = r"(?:proxy-)?authorization|(?:set-)?cookie"
"""A value after one of these headers is secret to the end of the line, …"""

_TELLING = (
    r"[\w-]*(?:api[-_ ]?key|passw(?:or)?d|passphrase)|(?:[\w-]*[-_])?(?:secret(?:[-_]key[-_]base)?|credentials?|pat"
    r"|(?:secret|private|(?:shared[-_]?)?access|account|encryption|signing|master|service[-_]role)[-_]?(?:access[-_]?)?key"
    r"(?:[-_]?id)?|shared[-_]?access[-_]?signature"
    r"|(?:client|app|shared|webhook|consumer)[-_]?secret|(?:access|refresh|id|auth|bearer|session|csrf|security)[-_]?token)"
    r"|x-amz-signature"
)
"""… a value after one of these names is a secret, …"""

_VAGUE = r"[\w-]*token|key|auth|sig|signature|pwd|pass|jwt|[\w-]*dsn"
"""… and a value after one of these is a secret if it looks like a key."""

_KEY_LIKE = r"[\w.~+/=%-]{16,}"

_CHAT_HOOKS = (
    r"(?i:\bhttps://(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)"
    r"|(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks|[\w-]{1,63}\.webhook\.office\.com/webhookb2"
    r"|outlook\.office(?:365)?\.com/webhook|chat\.googleapis\.com/v1/spaces|api\.telegram\.org/bot)[^\s\"'<>]{1,1024})"
)
"""The address of a chat service's hook is the secret itself."""

SHAPES = re.compile(
    r"(?i:\b(?:bearer|basic)\s{1,8})(?=[\w.~+/-]{0,64}\d|[\w.~+/-]{20})[\w.~+/-]{6,}=*"  # not: a basic understanding
    r"|\bcb[kt](?:_|%5[Ff])[\w%]{8,}|\bsk-[\w-]{6,}|\b[sr]k_(?:live|test)_\w{8,}|\bwhsec_[\w+/=]{8,}|\bya29\.[\w-]{8,}"
    r"|\bSG\.[\w-]{8,}(?:\.[\w-]*)?|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bgl(?:pat|dt|rt|cbt)-[\w-]{16,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}|\bhf_\w{20,}|\br8_\w{20,}|\bgsk_\w{20,}|\bnpm_\w{20,}"
    r"|\bpypi-[\w-]{20,}|\bdop_v1_\w{20,}|\bshp(?:at|ca|pa|ss)_\w{20,}|\bhv[sb]\.[\w-]{20,}|\bATATT3[\w=-]{20,}"
    r"|\bsntry[su]_[\w=/+-]{20,}|\bdapi[0-9a-f]{32}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\b\d{8,10}:AA[\w-]{33}\b|\bAGE-SECRET-KEY-1\w{20,}"
    r"|(?<![\w.-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----(?:BEGIN|END))[\s\S]){0,8192}"
    r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?|" + _CHAT_HOOKS
)
PARTS = re.compile(
    r"bearer|basic|cbk|cbt|sk-|k_live_|k_test_|whsec_|ya29\.|sg\.|gho_|ghp_|ghs_|ghu_|ghr_|github_pat_|glpat-|gldt-|glrt-"
    r"|glcbt-|xox|xapp-|hf_|r8_|gsk_|npm_|pypi-|dop_v1_|shp|hvs\.|hvb\.|atatt3|sntry|dapi|akia|asia|aiza|:aa|age-secret"
    r"|eyj|-----begin|https://"
)
"""Each of the shapes has one of these parts, in lower case. Most texts have none, which is found out in a fiftieth of
the time that the shapes take: all alternatives begin with a character that `re` can search for."""
URL_LOGIN = re.compile(r"(?<=://)([^\s/?#@:'\"]{0,256}):([^\s/?#'\"]{1,1024})@")
URL_TOKEN = re.compile(r"(?<=://)[\w.~-]{20,256}@")

SECRET_VARIABLE = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|(?:^|_)(?:key|token|secret|credentials?|pat|auth|dsn)|_pwd|api_?key|access_?token"
    r"|secret_?key|secret_key_base|access_?key_?id|private_?key|webhook(?:_url)?)$"
)
"""The names of environment variables whose values are secrets."""

DSN_PASSWORD = re.compile(r"(?i)\bpassword\s{0,8}=\s{0,8}(?:'([^']{1,1024})'|([^\s'\";]{1,1024}))")
"""In a connection string such as `host=db password=…`."""


class Names:
    """Finds values by the names that announce them, those of CALLBOARD_SECRET_NAMES included."""

    def __init__(self, extra: list[str]) -> None:
        telling = "|".join([_TELLING, *(re.escape(name) for name in extra)])
        self.telling = re.compile(f"(?i:{_HEADERS}|{telling})")
        self.vague = re.compile(f"(?i:{_VAGUE})")
        # `name=value`, `name: value`, `"name": "value"` (also escaped), `('name', 'value')`, `name%3Dvalue` in a URL
        # inside of a URL, `--name value`. A quoted value ends with its quote or with the line, because Pydantic cuts
        # long values.
        start = r"(?<![\w-])"
        between = r"(?:\\{0,4}[\"']?\s{0,4}(?:=>|[:=]|%3[AaDd])\s{0,4}|\\{0,4}[\"'],\s{0,4})b?"
        quoted = r"(?P<{0}>\\{{0,4}}[\"'])(?:(?!(?P={0}))[^\n]){{0,8192}}"
        self.named = re.compile(
            rf"(?P<name>{start}(?i:(?P<header>{_HEADERS})|{telling}){between})"
            rf"(?:{quoted.format('q')}(?P=q)?|(?(header)[^\n\"']{{1,8192}}|[^\s\"'&,;<>)}}\]]{{1,8192}}))"
            rf"|(?P<vague>{start}(?i:{_VAGUE}){between}\\{{0,4}}[\"']?){_KEY_LIKE}"
            rf"|(?P<flag>{start}(?=--)(?i:{telling}) {{1,4}})(?:{quoted.format('f')}(?P=f)?|[^\s\"']{{1,8192}})"
            rf"|(?P<vague_flag>{start}(?=--)(?i:{_VAGUE}|--key) {{1,4}}[\"']?){_KEY_LIKE}"
        )

    def announces(self, name: str, value: object) -> bool:
        """Returns whether a value with this name is a secret."""
        if self.telling.fullmatch(name):
            return True
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        return isinstance(value, str) and bool(self.vague.fullmatch(name) and re.fullmatch(_KEY_LIKE, value))

    def may_announce(self, name: str) -> bool:
        """Returns whether some value with this name is a secret."""
        return bool(self.telling.fullmatch(name) or self.vague.fullmatch(name))


@cache
def get_names() -> Names:
    return Names(sorted(get_settings().secret_names))
