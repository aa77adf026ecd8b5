"""Over a megabyte of text in many languages: man pages of Debian's translators and, for scripts that have none, Django's
messages; fetched by apt and unpacked, not installed."""

import gettext
import gzip
import pathlib
import re
import subprocess
import unittest

# Name of the language's folder, and the package.
PAGES = {"de": "manpages-de", "fr": "manpages-fr", "es": "manpages-es", "pl": "manpages-pl", "ru": "manpages-ru", "uk": "manpages-uk",
            "el": "manpages-el", "ja": "manpages-ja", "zh_CN": "manpages-zh", "zh_TW": "manpages-zh", "vi": "manpages-vi",
            "tr": "manpages-tr", "pt_BR": "manpages-pt-br"}
MESSAGES = ["ar", "bn", "fa", "he", "hi", "ko", "ta", "th"]
ROFF = re.compile(r"""^['.]\\".*$|^[.'][A-Za-z]{1,2}\s?|\\f[A-Z]|\\f\([A-Z]{2}|\\&|\\(?=[ '])""", re.M)


def unpack(package, folder):
    if folder.is_dir():
        return
    partial = folder.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    fetched = subprocess.run(["apt-get", "download", "-q", package], cwd=partial, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        raise unittest.SkipTest(f"apt-get download {package}: {fetched.stderr.strip().splitlines()[-1]}")
    for archive in partial.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", archive, partial], check=True)
    partial.rename(folder)


def prose(page):
    """A man page's text without most of its marks; what is left of them is text as good as any."""
    return ROFF.sub("", gzip.decompress(page.read_bytes()).decode("utf-8", "ignore").replace(r"\-", "-"))


def messages(folder, language):
    """Sentences, one behind the other."""
    with open(next(folder.glob(f"**/django/conf/locale/{language}/LC_MESSAGES/django.mo")), "rb") as file:
        catalogue = gettext.GNUTranslations(file)
    return "\n".join(text for key, text in sorted(catalogue._catalog.items(), key=str) if key and isinstance(text, str))


def texts(cache, bytes_a_language=100_000):
    """By language: texts of at most about so many bytes of UTF-8 together, the same every time."""
    cache = pathlib.Path(cache)
    found = {}
    for language, package in PAGES.items():
        folder = cache / package
        unpack(package, folder)
        found[language], size = [], 0
        for page in sorted((folder / "usr/share/man" / language).glob("man*/*.gz")):
            if size >= bytes_a_language or page.is_symlink():
                continue
            text = prose(page)[:20_000]
            found[language].append(text)
            size += len(text.encode())
    unpack("python3-django", cache / "python3-django")
    for language in MESSAGES:
        found[language] = [messages(cache / "python3-django", language)]
    return found


if __name__ == "__main__":
    for language, some in texts("build/peers/texts").items():
        print(language, len(some), sum(len(text.encode()) for text in some), repr(some[len(some) // 2][300:400]))
