"""Media types, recognized by the first bytes of the content because a server's header may be wrong."""

HEAD_BYTES = 32

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
VIDEOS = frozenset({"video/mp4", "video/webm"})

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/avif": "avif",
    "video/mp4": "mp4",
    "video/webm": "webm",
}

_PREFIXES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"\x1aE\xdf\xa3": "video/webm",
}


def sniff(head: bytes) -> str | None:
    """Returns the media type by the first HEAD_BYTES of a file, None if it is not a known one."""
    for prefix, media_type in _PREFIXES.items():
        if head.startswith(prefix):
            return media_type
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp":
        return "image/avif" if head[8:12] in (b"avif", b"avis") else "video/mp4"
    return None
