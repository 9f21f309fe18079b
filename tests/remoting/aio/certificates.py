"""Certificates for the TLS tests, made anew, and one whose key has a password."""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from remoting.aio.selfsigned import self_signed
from remoting.aio.tls import ServerTls, TlsMode

NOW = datetime.now(UTC)
PASSWORD = "1234pass"

LOCKED = """\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhIyIYGI7BtOwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGBof/kPp9nxtoHrfkPC5qsEgZAh
f1C/Jx50dEbMXsKANrZoNDvfwPNB8XUoV3P3Z2gDbz1Tgv/LtpL2ZpaMvJxQPpeh
sPMasZkQzemXf9oxQmKI65bgT0nl8jjVQIPi4GLQ2rRf5ISAvfWy7SI+3TcoOYDz
wdlne8suKpfHxeiqGaLG3GSoYhZM+U7GQdn3Tl3fNQyPMl8GaFaIEdvmS8h7Qg8=
-----END ENCRYPTED PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIURqnfM1qxSDyFe8mqm9SPnskOHigwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwMDYzNVoYDzIxMjYxMDI4
MTAwNjM1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATVpGRhRpNm8tEbZEWtOqS8+WZLxR4SNa2W/t84vUG0Rzxug2Z9rer1
NQy5M5ujFyXzTbebq6S0ri3jwrH0toYao1MwUTAdBgNVHQ4EFgQUzsz2hoVrKtpa
xtAZ2bCV71PcdoYwHwYDVR0jBBgwFoAUzsz2hoVrKtpaxtAZ2bCV71PcdoYwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA2vOayJEpOKm7yAcfLTkg
37AFUVhOilSZ9hKKsLuXwVgCIF5F/JBvA2yxbhKQKefebbAK71sVRsi7Ozg1J2Vp
TSHD
-----END CERTIFICATE-----
"""


class Files(NamedTuple):
    """A certificate and its key; the certificate is what to trust, too."""

    cert: Path
    key: Path


def write(directory: Path, name: str = "server") -> Files:
    """Write a new certificate and its key."""
    made = self_signed(NOW)
    files = Files(directory / f"{name}.crt", directory / f"{name}.key")
    files.cert.write_text(made.certificate)
    files.key.write_text(made.key)
    return files


def write_locked(directory: Path) -> Path:
    """Write one file with a certificate and its key, which ``PASSWORD`` opens."""
    path = directory / "locked.pem"
    path.write_text(LOCKED)
    return path


def server_tls(files: Files, **changes: object) -> ServerTls:
    """Return settings that use these files."""
    values: dict[str, object] = {
        "mode": TlsMode.PERMISSIVE,
        "test_mode": False,
        "cert_path": files.cert,
        "key_path": files.key,
        **changes,
    }
    return ServerTls(**values)  # type: ignore[arg-type]
