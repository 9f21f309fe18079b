"""The certificate of the test mode: good PEM that proves itself only."""

import ssl
from pathlib import Path

import pytest

from remoting.aio.selfsigned import self_signed
from tests.remoting.aio.certificates import NOW, write


def test_each_one_is_new() -> None:
    first, second = self_signed(NOW), self_signed(NOW)

    assert first.certificate != second.certificate
    assert first.key != second.key


def test_key_and_certificate_belong_together(tmp_path: Path) -> None:
    mine, other = write(tmp_path, "mine"), write(tmp_path, "other")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    context.load_cert_chain(mine.cert, mine.key)
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        context.load_cert_chain(mine.cert, other.key)


def test_it_is_the_authority_of_itself(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(write(tmp_path).cert)
    (shown,) = context.get_ca_certs()

    assert shown["subject"] == shown["issuer"] == ((("commonName", "localhost"),),)
    assert shown["version"] == 1


def test_every_size_of_number_gives_der_that_reads() -> None:
    # Leading zeros and high bits of r, s and the serial come up within some tries.
    for _ in range(20):
        made = self_signed(NOW, name="n" * 60)
        assert len(ssl.PEM_cert_to_DER_cert(made.certificate)) > 200
